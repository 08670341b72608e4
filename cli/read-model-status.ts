import { allProjections } from '../projections/all-projections.ts';
import { readHealth, type ReadModelHealth } from '../projections/engine/read-model-health.ts';
import { systemClock } from '../shared/async/clock.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { ArgumentsError } from './parse-args.ts';
import { relativeTime, tableOf } from './print-table.ts';

export const addStatusCommand = (group: OperatorCommand, { installation, print, fail }: Tools): void => {
  group
    .command('status')
    .description(
      'Shows the position and lag of each read model, whether a process runs it, its parked streams, and unfinished ' +
        'copies. Default: all. Changes nothing.',
    )
    .argument('[NAME...]')
    .exits({
      0: 'a process runs each read model, no lag exceeds 10,000 events, and no stream is parked',
      1: 'a read model has a problem',
      2: 'the status could not be read',
    })
    .example('', 'advertisers --json')
    .action(async (names: readonly string[]) => {
      const unknown = names.find((name) => !allProjections.some((one) => one.name === name));
      if (unknown !== undefined) {
        const there = allProjections.map((one) => one.name).join(', ');
        throw new ArgumentsError(`${unknown} is not a read model; there are: ${there}`);
      }
      const wanted = allProjections.filter(({ name }) => names.length === 0 || names.includes(name));
      const { pool, sealedStore } = await installation();
      const healths = await readHealth(pool, sealedStore, wanted, systemClock.now());
      const text = `the log ends at ${healths[0]?.head}\n${tableOf(HEAD, healths.map(cellsOf))}`;
      for (const [n, health] of healths.entries()) print(health, n === 0 ? text : undefined);
      if (healths.some(({ problems }) => problems.length > 0)) fail();
    });
};

const HEAD = ['read model', 'at', 'epoch', 'behind', 'run', 'parked', 'copy'] as const;

const cellsOf = (one: ReadModelHealth): readonly string[] => [
  one.readModel,
  one.position,
  String(one.epoch),
  behindOf(one),
  one.led ? 'yes' : 'NO',
  String(one.parkedStreams),
  copyOf(one),
];

const behindOf = ({ lagEvents, lagBytes = 0, lagSeconds, problems }: ReadModelHealth): string => {
  if (problems.includes('log-ends-before')) return 'THE LOG ENDS BEFORE IT';
  const much = lagEvents === undefined ? `${lagBytes} bytes` : `${lagEvents} events`;
  return lagSeconds === 0 ? much : `${much}, ${lagSeconds.toFixed(1)} s`;
};

const copyOf = ({ copy }: ReadModelHealth): string => {
  if (copy === undefined) return '-';
  const done = copy.fraction === undefined ? 'begun' : `${(copy.fraction * 100).toFixed(1)} %`;
  const { heldBy } = copy;
  if (heldBy === undefined) return `${done}, left by a run that has ended`;
  const address = heldBy.address === undefined ? '' : ` at ${heldBy.address}`;
  return `${done}, by ${heldBy.process}${address}, connected ${relativeTime(heldBy.connectedAt)}`;
};
