import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** A dedicated Redis, for tests to break. */
export interface OwnRedis {
  readonly url: string;
  /** Deletes all data. */
  flush(): Promise<void>;
  /** Stops answering, without closing connections, until `resume`. */
  stall(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** Starts `redis-server` on a free port, without persistence. @throws Error if the program is not installed */
export const startOwnRedis = async (): Promise<OwnRedis> => {
  const port = await freePort();
  const child = spawn('redis-server', ['--port', String(port), '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  });
  await Promise.race([
    once(child, 'spawn'),
    once(child, 'error').then(([error]) => Promise.reject(error as Error)),
  ]);
  const url = `redis://127.0.0.1:${port}`;
  const redis = new Redis(url, { retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  await until(async () => redis.status === 'ready');
  return {
    url,
    flush: async () => void (await redis.flushall()),
    stall: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop: async () => {
      redis.disconnect();
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
};
