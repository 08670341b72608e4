import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWithPrograms } from './describe-with-programs.ts';
import { until } from './until.ts';

const PATH = '/usr/sbin/nginx';

export const describeWithNginx = describeWithPrograms({ path: PATH, package: 'nginx' });

export interface Nginx {
  /** Lines of the access log: number of the connection, path, status. */
  requests(): Promise<readonly (readonly string[])[]>;
  stop(): Promise<void>;
}

export interface NginxOptions {
  /** Contents of the `http` block; `{folder}` is that of the files. */
  readonly http: string;
  readonly files: Readonly<Record<string, string>>;
  /** A port that it listens on. */
  readonly port: number;
}

export const startNginx = async ({ http, files, port }: NginxOptions): Promise<Nginx> => {
  const folder = await mkdtemp(join(tmpdir(), 'nginx-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((what) => `${what}_temp_path ${folder}/${what};`)
    .join('\n');
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
     events { worker_connections 256; }
     http { ${temporary}
       log_format requests '$connection $uri $status'; access_log ${folder}/access.log requests;
       ${http.replaceAll('{folder}', folder)} }`,
  );
  const child = spawn(PATH, ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  await until(() => isOpen(port));
  return {
    requests: async () =>
      (await readFile(join(folder, 'access.log'), 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split(' ')),
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
