import { readFile } from 'node:fs/promises';
import { sleep } from '../../../shared/async/backoff.ts';
import { lineOf, type Line } from '../measure.ts';
import { startService, type ServiceProcess } from '../service-process.ts';
import { startOwnService } from '../stage.ts';
import type { Scenario } from './scenario.ts';

/** Clock ticks per second of `/proc/PID/stat` on Linux. */
const TICKS = 100;
/** Lets work of the start finish. */
const SETTLE_MS = 5_000;

/** Processor time that a process has used, in seconds. */
const processorSeconds = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return (user + system) / TICKS;
};

const shareOf = async ({ pid }: Pick<ServiceProcess, 'pid'>, seconds: number): Promise<number> => {
  const [before, startMs] = [await processorSeconds(pid), performance.now()];
  await sleep(seconds * 1_000);
  const tookSeconds = (performance.now() - startMs) / 1_000;
  return (((await processorSeconds(pid)) - before) / tookSeconds) * 100;
};

/** The cost of following the log in an idle process: with all read models against none. */
export const idleProcessor: Scenario = async (bench) => {
  const whole = await startOwnService(bench, { ROLES: 'projector,api,worker' });
  // Uses the same database. It becomes ready because the other process runs the read models.
  const without = await startService({
    DATABASE_URL: whole.databaseUrl,
    NODE_ENV: 'test',
    ROLES: 'api,worker',
  });
  bench.atEnd(() => without.kill());
  await sleep(SETTLE_MS);
  const seconds = bench.quick ? 10 : 60;
  const [withReadModels, withoutThem] = await Promise.all([
    shareOf(whole.service, seconds),
    shareOf(without, seconds),
  ]);
  const line = (name: string, share: number, goal?: number): Line =>
    lineOf({ name, unit: '% of a core', ours: [share], ...(goal !== undefined && { goal, atMost: true }) });
  return [
    line(
      'an idle process that follows the log for all read models, over one that follows for none',
      Math.max(0, withReadModels - withoutThem),
      1,
    ),
    line('an idle process with all roles', withReadModels),
    line('an idle process without the role projector', withoutThem),
  ];
};
