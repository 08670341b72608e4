import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { packageDirectory } from '../../app/version.ts';
import { run, until, type Docker } from './docker.ts';

export type Settings = Readonly<Record<string, string>>;

/** What is killed while clients write. */
export interface Installation {
  readonly containers: readonly string[];
  /** Runs the operator's command. @returns what it prints @throws Error when it fails */
  operate(...words: readonly string[]): Promise<string>;
  /** The address at which this machine reaches a container, also in networks without a way out. */
  addressOf(container: string, network?: string): Promise<string>;
  /** Ends a container as a crash does. @returns how long it was away, until it is healthy again, in ms */
  kill(container: string): Promise<number>;
}

/** The containers of Compose files. */
export interface Deployment extends Installation {
  /** For other programs that call Compose. */
  readonly environment: Settings;
  /** Runs Compose. @returns what it prints @throws Error when it fails */
  compose(...words: readonly string[]): Promise<string>;
  /** Runs `deploy/compose.sh`. @returns what it prints @throws Error when it fails */
  script(...words: readonly string[]): Promise<string>;
  /** Stops the program of a container with an init process, as a defect may. @returns how long it was away, in ms */
  hang(container: string): Promise<number>;
}

const Config = z.object({ services: z.record(z.string(), z.object({ image: z.string() })) });

/** Compose in the folder of the program, where this process is. The settings take the place of `.env`. */
const composeOf =
  (environment: Settings) =>
  (...words: readonly string[]): Promise<string> =>
    run('/usr/bin/docker', ['compose', ...words], environment);

/** The images of the services, also of those that only a profile starts. */
export const imagesOf = async (docker: Docker, settings: Settings): Promise<Settings> => {
  const compose = composeOf({ ...docker.environment, ...settings });
  const { services } = Config.parse(
    JSON.parse(await compose('--profile', '*', 'config', '--format', 'json')),
  );
  return Object.fromEntries(Object.entries(services).map(([name, { image }]) => [name, image]));
};

/** Starts the services of the files that `COMPOSE_FILE` names, or some of them, with empty volumes. */
export const deploy = async (
  docker: Docker,
  settings: Settings,
  services: readonly string[] = [],
): Promise<Deployment> => {
  await clean(docker);
  return redeploy(docker, settings, services);
};

/** The same with the volumes that there are: replaces the containers whose settings differ, and starts what is new. */
export const redeploy = async (
  docker: Docker,
  settings: Settings,
  services: readonly string[] = [],
): Promise<Deployment> => {
  const compose = composeOf({ ...docker.environment, ...settings });
  await compose('up', '--detach', '--remove-orphans', '--no-build', '--pull', 'never', ...services);
  const deployment = await deploymentOf(docker, settings);
  await allHealthy(docker, deployment.containers);
  return deployment;
};

/** The containers that there are, with other settings for what comes next. */
export const deploymentOf = async (docker: Docker, settings: Settings): Promise<Deployment> => {
  const environment = { ...docker.environment, ...settings };
  const compose = composeOf(environment);
  const containers = (await docker('ps', '--format', '{{.Names}}')).split('\n').toSorted();
  return {
    containers,
    environment,
    compose,
    operate: (...words) => compose('run', '--rm', '--no-TTY', 'operator', ...words),
    script: (...words) =>
      run('sh', ['-c', 'cd "$0" && sh deploy/compose.sh "$@" 2>&1', packageDirectory, ...words], {
        ...environment,
        // Debian's client is the one that belongs to its daemon.
        PATH: `/usr/bin:${process.env['PATH'] ?? ''}`,
      }),
    addressOf: async (container, network) => {
      const networks = network === undefined ? '$name' : `"buyer-exchange_${network}"`;
      const format = `{{range $name, $it := .NetworkSettings.Networks}}{{if eq $name ${networks}}}{{$it.IPAddress}} {{end}}{{end}}`;
      return (await docker('inspect', '--format', format, container)).split(' ')[0] ?? '';
    },
    // Not `docker kill`: Docker takes that for the operator's wish, and `restart: unless-stopped` would not apply.
    kill: (container) => awayAfter(docker, container, async (pid) => process.kill(pid, 'SIGKILL')),
    hang: (container) =>
      awayAfter(docker, container, async (pid) => {
        const [child = ''] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ');
        process.kill(Number.parseInt(child, 10), 'SIGSTOP');
      }),
  };
};

/** @param disturb gets the process 1 of the container @returns how long it was away, until it is healthy again, in ms */
const awayAfter = async (
  docker: Docker,
  container: string,
  disturb: (pid: number) => Promise<unknown>,
): Promise<number> => {
  const before = await pidOf(docker, container);
  // 0 would be this process and its group.
  if (before <= 0) throw new Error(`${container} does not run`);
  const startedMs = performance.now();
  await disturb(before);
  await until(`${container} runs again`, async () => ![0, before].includes(await pidOf(docker, container)));
  await allHealthy(docker, [container]);
  return performance.now() - startedMs;
};

const pidOf = async (docker: Docker, container: string): Promise<number> =>
  Number(await docker('inspect', '--format', '{{.State.Pid}}', container));

/** Without a health check it is enough that they run. @throws Error with the log of one that does not become healthy */
const allHealthy = async (docker: Docker, containers: readonly string[]): Promise<void> => {
  const format = '{{if .State.Health}}{{.State.Health.Status}}{{else}}{{.State.Status}}{{end}}';
  for (const container of containers) {
    try {
      await until(`${container} is healthy`, async () =>
        /^(?:healthy|running)$/.test(await docker('inspect', '--format', format, container)),
      );
    } catch (error) {
      const log = await run(
        'sh',
        ['-c', '/usr/bin/docker logs --tail 30 "$0" 2>&1', container],
        docker.environment,
      );
      throw new Error(`${String(error)}\n${log}`, { cause: error });
    }
  }
};

/** Removes all containers, networks and volumes. Images stay, so that the next run starts sooner. */
export const clean = async (docker: Docker): Promise<void> => {
  const all = async (...words: readonly string[]): Promise<readonly string[]> =>
    (await docker(...words, '--quiet')).split('\n').filter((id) => id !== '');
  for (const id of await all('ps', '--all')) await docker('rm', '--force', '--volumes', id);
  for (const id of await all('network', 'ls', '--filter', 'type=custom')) await docker('network', 'rm', id);
  for (const id of await all('volume', 'ls')) await docker('volume', 'rm', id);
};
