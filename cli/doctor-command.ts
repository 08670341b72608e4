import { styleText } from 'node:util';
import { isConfigError, type Config } from '../app/config.ts';
import { problemText } from '../app/problem-text.ts';
import { connectionProblem } from '../shared/postgres/connection-problem.ts';
import { createLog } from '../app/log.ts';
import { openInstallation } from '../app/installation.ts';
import { requestStoreTimeouts } from '../app/store-timeouts.ts';
import type { OperatorCommand, Tools } from './command.ts';
import {
  databaseChecks,
  isCreated,
  machineChecks,
  ok,
  problem,
  type Check,
  type Finding,
} from './doctor-checks.ts';
import { tableOf } from './print-table.ts';

interface Result extends Finding {
  readonly check: string;
}

export const addDoctorCommand = (program: OperatorCommand, tools: Tools): void => {
  program
    .command('doctor')
    .description(
      'Checks settings, stores, clocks, disk space, read models, parked streams, seals and the work list, and says ' +
        'what to do about each problem. Changes no data.',
    )
    .example('', '--json')
    .exits({ 0: 'no problem was found', 1: 'a problem was found' })
    .action(async () => {
      const results = await examine(tools.config);
      const problems = results.filter(({ state }) => state === 'problem');
      const text = [
        tableOf(['check', 'state', 'finding'], results.map(cellsOf)),
        ...(problems.length === 0 ? [] : ['']),
        ...problems.map(({ check, advice }) => `${check}: ${advice ?? 'Read the finding.'}`),
      ].join('\n');
      for (const [n, result] of results.entries()) tools.print(result, n === 0 ? text : undefined);
      if (problems.length > 0) tools.fail();
    });
};

const cellsOf = ({ check, state, finding }: Result): readonly string[] => [
  check,
  state === 'problem' ? styleText('red', 'PROBLEM', { stream: process.stdout }) : state,
  finding,
];

const examine = async (readConfig: () => Config): Promise<readonly Result[]> => {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!isConfigError(error)) throw error;
    const finding = error.message.replaceAll(/\n */g, ' ');
    return [
      { check: 'settings', state: 'problem', finding, advice: 'Correct the setting, then run doctor again.' },
    ];
  }
  const results: Result[] = [{ check: 'settings', ...ok(`valid; roles ${config.ROLES.join(', ')}`) }];
  const run = async (checks: readonly Check[]): Promise<void> => {
    for (const { check, look, advice } of checks) {
      const found = await look().catch((error: unknown) => problem(findingOf(error, config), advice));
      results.push({ check, ...found });
      if (found.isLast === true) return;
    }
  };
  await run(machineChecks(config));
  if (config.DATABASE_URL === undefined && !(await isCreated(config))) {
    const finding = `embedded, not created yet in ${config.DATA_DIR}: the first start creates it`;
    return [...results, { check: 'database', state: 'note', finding }];
  }
  try {
    const installation = await openInstallation(
      config,
      'exchange-operator',
      createLog('silent'),
      requestStoreTimeouts,
    );
    try {
      await run(databaseChecks(installation, config));
    } finally {
      await installation.close();
    }
  } catch (error) {
    const advice = 'Read postgres.log in DATA_DIR, which says why the embedded database does not start.';
    results.push({
      check: 'database',
      ...problem(findingOf(error, config), advice),
    });
  }
  return results;
};

/** The error of a pool does not name the address that it belongs to. */
const findingOf = (error: unknown, { DATABASE_URL: url }: Config): string =>
  problemText(url === undefined ? error : connectionProblem(error, url));
