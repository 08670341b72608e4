import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { testProgram } from './bundles.ts';

export interface PostgresUser {
  readonly pid: number;
  /** Resolves when the process has joined or started Postgres. */
  readonly url: Promise<string>;
  /** Ends it gracefully. */
  stop(): Promise<void>;
  /** `kill -9` */
  kill(): Promise<void>;
}

/** Another process that uses the embedded Postgres of `dataDir`. */
export const startPostgresUser = (dataDir: string): PostgresUser => {
  const script = testProgram('support/embedded-postgres-process.js');
  const child = spawn(process.execPath, [script, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const firstLine = once(child.stdout, 'data').then(
    ([line]) => (JSON.parse(String(line)) as { url: string }).url,
  );
  const url = Promise.race([
    firstLine,
    ended.then(([status]) =>
      Promise.reject(new Error(`the process ended before Postgres was ready: ${String(status)}`)),
    ),
  ]);
  // Ignored for callers that kill the process without using the URL.
  url.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    url,
    stop: async () => {
      child.stdin.end();
      await ended;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
};
