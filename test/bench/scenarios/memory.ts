import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { lineOf } from '../measure.ts';
import { openStage } from '../stage.ts';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);

/** Resident memory of a process, in MB. */
export const residentMb = async (pid: number): Promise<number> => {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return (Number(stdout) * 1024) / 1e6;
};

const QUIET_MS = 2_000;

/** Resident memory of the service's process some seconds after its start, without its Postgres. */
export const idleMemory: Scenario = async (bench) => {
  // The service has not had requests yet: scenarios with requests come later.
  const { service } = await bench.shared(openStage);
  await new Promise((resolve) => {
    setTimeout(resolve, QUIET_MS);
  });
  const idleMb = await residentMb(service.pid);
  return [
    lineOf({
      name: 'idle resident memory, without Postgres',
      unit: 'MB',
      ours: [idleMb],
      goal: 200,
      atMost: true,
    }),
  ];
};
