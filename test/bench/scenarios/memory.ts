import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { lineOf } from '../measure.ts';
import { startOwnService } from '../stage.ts';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);
const QUIET_MS = 2_000;

/** Resident memory of the service's process some seconds after its start, without its Postgres. */
export const idleMemory: Scenario = async (bench) => {
  const { service } = await startOwnService(bench);
  await new Promise((resolve) => {
    setTimeout(resolve, QUIET_MS);
  });
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(service.pid)]);
  await service.kill();
  return [
    lineOf({
      name: 'idle resident memory, without Postgres',
      unit: 'MB',
      ours: [(Number(stdout) * 1024) / 1e6],
      goal: 200,
      atMost: true,
    }),
  ];
};
