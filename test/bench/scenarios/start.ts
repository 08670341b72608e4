import { temporaryDataDir } from '../bench-database.ts';
import { lineOf, type Line } from '../measure.ts';
import { npmStart, startService, type Environment, type Start } from '../service-process.ts';
import type { Bench, Scenario } from './scenario.ts';

const GOAL_SECONDS = 2;

/** Time from the start of the process to `/ready`, after an earlier start. */
export const startUp: Scenario = async (bench) => {
  const { url } = await bench.createDatabase();
  const dataDir = await temporaryDataDir();
  const embedded = { DATABASE_URL: '', DATA_DIR: dataDir.path };
  try {
    const given = { DATABASE_URL: url };
    await Promise.all([startOnce(given), startOnce(embedded)]);
    return [
      await startLine(bench, 'start, DATABASE_URL', given, startService),
      await startLine(bench, 'start, embedded Postgres', embedded, startService),
      await startLine(bench, 'npm start, embedded Postgres', embedded, npmStart),
    ];
  } finally {
    await dataDir.remove();
  }
};

/** The first start prepares the database and is not counted. */
const startOnce = async (environment: Environment): Promise<void> => {
  await (await startService(environment)).stop();
};

const startLine = async (
  { quick, rounds }: Bench,
  name: string,
  environment: Environment,
  start: Start,
): Promise<Line> => {
  const seconds: number[] = [];
  const counted = quick ? 1 : rounds;
  for (let round = 0; round < counted; round++) {
    const service = await start(environment);
    await service.stop();
    seconds.push(service.readyMs / 1000);
  }
  return lineOf({ name, unit: 's', ours: seconds, goal: GOAL_SECONDS, atMost: true });
};
