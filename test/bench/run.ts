import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { migrations } from '../../src/migrations/index.ts';
import { migrate } from '../../src/shared/postgres/migrate.ts';
import { createBenchDatabase, openPostgres } from './bench-database.ts';
import { describeMachine, machineText } from './machine.ts';
import { tableOf, type Line } from './measure.ts';
import { scenarios } from './scenarios/all-scenarios.ts';
import type { Bench, Stage } from './scenarios/scenario.ts';
import { openStage } from './stage.ts';

/**
 * `npm run bench -- [--quick] [--only NAME]... [--json FILE]`: the service against its peers, both in
 * alternation in one run. Brings its own Postgres; with `DATABASE_URL` it makes databases there and drops them.
 */

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
  },
});

const chosen = (): readonly (readonly [string, (typeof scenarios)[string]])[] => {
  const unknown = (values.only ?? []).filter((name) => scenarios[name] === undefined);
  if (unknown.length > 0) {
    throw new Error(`no scenario ${unknown.join(', ')}; there are: ${Object.keys(scenarios).join(', ')}`);
  }
  return Object.entries(scenarios).filter(([name]) => values.only?.includes(name) ?? true);
};

const createBench = (serverUrl: string, closers: (() => Promise<void>)[]): Bench => {
  let stage: Promise<Stage> | undefined;
  const bench: Bench = {
    quick: values.quick,
    rounds: values.quick ? 3 : 5,
    seconds: values.quick ? 0.5 : 3,
    growTo: values.quick ? 100_000 : 1_000_000,
    createDatabase: async () => {
      const { url, drop } = await createBenchDatabase(serverUrl);
      closers.push(drop);
      await migrate(url, migrations);
      return { url };
    },
    stage: () => (stage ??= openStage(bench)),
    atEnd: (close) => closers.push(close),
  };
  return bench;
};

/** In reverse order, each once; a failure does not keep the others open. */
const closeAll = async (closers: (() => Promise<void>)[]): Promise<void> => {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    await close().catch((error: unknown) => process.stderr.write(`not closed: ${String(error)}\n`));
  }
};

const main = async (): Promise<void> => {
  const selected = chosen();
  const closers: (() => Promise<void>)[] = [];
  process.once('SIGINT', () => void closeAll(closers).finally(() => process.exit(130)));
  const lines: Line[] = [];
  const failed: string[] = [];
  try {
    const postgres = await openPostgres();
    closers.push(() => postgres.stop());
    const machine = await describeMachine(postgres.url);
    process.stdout.write(`${machineText(machine)}\n\n`);
    const bench = createBench(postgres.url, closers);
    for (const [name, scenario] of selected) {
      const startedAt = performance.now();
      try {
        lines.push(...(await scenario(bench)));
      } catch (error) {
        failed.push(name);
        process.stderr.write(`${name} failed: ${error instanceof Error ? error.stack : String(error)}\n`);
      }
      process.stderr.write(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`);
    }
    process.stdout.write(`\n${tableOf(lines)}\n`);
    if (values.json !== undefined) {
      await writeFile(values.json, `${JSON.stringify({ machine, quick: values.quick, lines }, null, 2)}\n`);
    }
  } finally {
    await closeAll(closers);
  }
  const missed = lines.filter(({ met }) => met === false).length;
  process.stdout.write(
    `\n${lines.length} lines, ${missed} goals missed, ${failed.length} scenarios failed\n`,
  );
  // A missed goal is a figure to look at, not an error: the machine may be busy with something else.
  process.exitCode = failed.length > 0 ? 1 : 0;
};

await main();
