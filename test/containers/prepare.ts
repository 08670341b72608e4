import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { generousLimits } from '../support/generous-limits.ts';
import type { Settings } from './deployment.ts';
import { run } from './docker.ts';
import type { ImageNames } from './images.ts';
import { say } from './write-and-kill.ts';

/** The operator's `.env`, with limits that the clients do not reach. */
export const makeSettings = async (folder: string, port: number): Promise<Settings> => {
  const text = await run('sh', [join(packageDirectory, 'deploy/create-env.sh'), 'https://api.example.com']);
  const certificates = join(folder, 'certificates');
  await mkdir(certificates, { recursive: true });
  return {
    ...Object.fromEntries(text.split('\n').map((line) => line.split('=', 2))),
    ...generousLimits,
    PUBLISHED_ADDRESS: '127.0.0.1',
    PUBLISHED_PORT: String(port),
    CERTIFICATES: certificates,
  };
};

/** @returns the names that stand-ins take: those that the files of the checkout name */
export const imageNamesOf = async (images: Settings): Promise<ImageNames> => {
  const imageOf = (service: string): string => images[service] ?? '';
  const dockerfile = await readFile(join(packageDirectory, 'Dockerfile'), 'utf8');
  const [, node = ''] = /^FROM (\S+)/m.exec(dockerfile) ?? [];
  if (!node.startsWith(`node:${process.versions.node.split('.')[0]}-`)) {
    throw new Error(`this is Node.js ${process.versions.node}, not that of ${node}: start this with npm run`);
  }
  return {
    node,
    balancer: imageOf('balancer'),
    postgres: imageOf('postgres'),
    redis: imageOf('redis'),
    eventstore: imageOf('eventstore'),
  };
};

/** Prints how long a part of the test took. */
export const timed = async <T>(part: string, work: () => Promise<T>): Promise<T> => {
  say(`== ${part}`);
  const startedMs = performance.now();
  const result = await work();
  say(`== ${part}: ${Math.round((performance.now() - startedMs) / 1_000)} s`);
  return result;
};
