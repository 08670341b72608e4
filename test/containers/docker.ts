import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../../shared/async/backoff.ts';

const OUTPUT_BYTES_MAX = 64 * 1_048_576;
const WITHIN_MS = 180_000;
const EVERY_MS = 250;

/** Polls until `condition` holds. @throws Error after three minutes, which names what did not happen */
export const until = async (what: string, condition: () => Promise<boolean>): Promise<void> => {
  const startedMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedMs > WITHIN_MS)
      throw new Error(`not within ${WITHIN_MS / 1_000} s: ${what}`);
    await sleep(EVERY_MS);
  }
};

/** @returns standard output @throws Error with the output of a program that fails */
export const run = async (
  program: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> => {
  try {
    const { stdout } = await promisify(execFile)(program, words, {
      maxBuffer: OUTPUT_BYTES_MAX,
      env: { ...process.env, ...environment },
    });
    return stdout.trim();
  } catch (error) {
    // A build reports on standard output what failed. The message already contains standard error.
    const { message, stdout = '' } = error as Error & { readonly stdout?: string };
    throw new Error(`${message}\n${stdout.slice(-4_000)}`, { cause: error });
  }
};

/** Options of a command. The value follows `=`, as those that may have none need it. */
export const flags = (
  options: Readonly<Record<string, string | number | true | undefined>>,
): readonly string[] =>
  Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return value === true ? [`--${name}`] : [`--${name}=${value}`];
  });

export interface Docker {
  /** @returns the output of the command @throws Error */
  (...words: readonly string[]): Promise<string>;
  /** For other programs that call `docker`. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/**
 * A daemon with its own images, containers and volumes, apart from the machine's: the images of this test have the names
 * of published ones.
 * @param config the client's folder (`DOCKER_CONFIG`)
 * @param more options of the daemon
 */
export const startDocker = async (
  folder: string,
  config: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Docker> => {
  await mkdir(folder, { recursive: true });
  const socket = `unix://${join(folder, 'docker.sock')}`;
  const log = await open(join(folder, 'dockerd.log'), 'w');
  const options = {
    'data-root': join(folder, 'docker'),
    'exec-root': join(folder, 'exec'),
    pidfile: join(folder, 'docker.pid'),
    host: socket,
    ...more,
  };
  const daemon = spawn('dockerd', flags(options), { stdio: ['ignore', log.fd, log.fd] });
  const ended = once(daemon, 'exit');
  // The builder of Docker itself: BuildKit would fetch the frontend that `# syntax=` names from a registry.
  const environment = { DOCKER_HOST: socket, DOCKER_BUILDKIT: '0', DOCKER_CONFIG: config };
  // Debian's client belongs to Debian's daemon. A newer one elsewhere in the path may refuse it.
  const docker = (...words: readonly string[]) => run('/usr/bin/docker', words, environment);
  await until('dockerd answers', async () => {
    if (daemon.exitCode !== null) throw new Error(`dockerd ended: see ${folder}/dockerd.log`);
    return docker('version').then(
      () => true,
      () => false,
    );
  });
  return Object.assign(docker, {
    environment,
    stop: async () => {
      daemon.kill('SIGTERM');
      await ended;
      await log.close();
    },
  });
};
