import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWithPrograms } from './describe-with-programs.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const PROGRAM = '/usr/sbin/haproxy';

export const describeWithHaproxy = describeWithPrograms({ path: PROGRAM, package: 'haproxy' });

export interface Haproxy {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/**
 * With `deploy/haproxy.cfg`, except for where the service is and how long a connection may be silent.
 * @param readyStatus what `/ready` answers through it once it runs
 */
export const startHaproxy = async (
  servicePort: number,
  idleSeconds: number,
  readyStatus = 200,
): Promise<Haproxy> => {
  const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'haproxy-'))];
  const shipped = await readFile('deploy/haproxy.cfg', 'utf8');
  const config = shipped
    .replace(/^resolvers docker\n(?: .*\n)*/m, '')
    .replaceAll(
      /server-template (\w+) 1-8 api:3000 (.*?) resolvers docker init-addr none/g,
      `server $1 127.0.0.1:${servicePort} $2`,
    )
    .replaceAll(/timeout (client|server) \w+/g, `timeout $1 ${idleSeconds}s`)
    .replace('bind :8080', `bind 127.0.0.1:${port}`);
  await writeFile(join(folder, 'haproxy.cfg'), config);
  const child = spawn(PROGRAM, ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
  const baseUrl = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${baseUrl}/ready`).catch(() => undefined))?.status === readyStatus);
  return {
    baseUrl,
    stop: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await rm(folder, { recursive: true });
    },
  };
};
