import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import {
  createArguments,
  readComposeFile,
  type ComposeFile,
  type Container,
  type Service,
  type Settings,
} from './compose-file.ts';
import { run, until, type Docker } from './docker.ts';

/** The containers of a Compose file, with its networks and volumes. */
export interface Deployment {
  readonly containers: readonly string[];
  /** Runs the operator's command. @returns what it prints @throws Error when it fails */
  operate(...words: readonly string[]): Promise<string>;
  /** The address at which this machine reaches a container, also in networks without a way out. */
  addressOf(container: string): Promise<string>;
  /** Ends a container as a crash does. @returns how long it was away, until it is healthy again, in ms */
  kill(container: string): Promise<number>;
}

/** The file of the checkout. */
export const composeFileOf = async (settings: Settings): Promise<ComposeFile> =>
  readComposeFile(await readFile(join(packageDirectory, 'docker-compose.yml'), 'utf8'), settings);

/** Starts every service of the file after those on which it depends. */
export const deploy = async (docker: Docker, file: ComposeFile): Promise<Deployment> => {
  const { name: project, services } = file;
  await clean(docker);
  for (const [network, { internal, driver_opts: options }] of Object.entries(file.networks)) {
    const settings = Object.entries(options).flatMap(([option, value]) => ['--opt', `${option}=${value}`]);
    await docker(
      'network',
      'create',
      ...(internal ? ['--internal'] : []),
      ...settings,
      `${project}_${network}`,
    );
  }
  const create = async (container: Container, command?: readonly string[]): Promise<void> => {
    await docker(...createArguments(container, project, packageDirectory, command));
    for (const network of container.service.networks.slice(1)) {
      const { name, alias } = container;
      await docker('network', 'connect', '--alias', alias, `${project}_${network}`, name);
    }
  };

  const started = new Map<string, readonly string[]>();
  const start = async (alias: string): Promise<void> => {
    const service = services[alias];
    if (service === undefined) throw new Error(`no service ${alias}`);
    if (started.has(alias)) return;
    for (const [needed, { condition }] of Object.entries(service.depends_on)) {
      await start(needed);
      if (condition === 'service_healthy') await allHealthy(docker, started.get(needed) ?? []);
    }
    const names = namesOf(project, alias, service);
    for (const name of names) {
      await create({ name, alias, service });
      await docker('start', name);
    }
    started.set(alias, names);
  };
  for (const [alias, { profiles }] of Object.entries(services)) if (profiles.length === 0) await start(alias);
  const containers = [...started.values()].flat();
  await allHealthy(docker, containers);

  let commands = 0;
  return {
    containers,
    operate: async (...words) => {
      const service = services['operator'];
      if (service === undefined) throw new Error('no service for the operator');
      commands += 1;
      const name = `${project}-operator-${commands}`;
      await create({ name, alias: 'operator', service }, words);
      return docker('start', '--attach', name);
    },
    addressOf: async (container) => {
      const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
      return (await docker('inspect', '--format', format, container)).split(' ')[0] ?? '';
    },
    kill: async (container) => {
      const before = await pidOf(docker, container);
      // 0 would be this process and its group.
      if (before <= 0) throw new Error(`${container} does not run`);
      const startedMs = performance.now();
      // Not `docker kill`: Docker takes that for the operator's wish, and `restart: unless-stopped` would not apply.
      process.kill(before, 'SIGKILL');
      await until(
        `${container} runs again`,
        async () => ![0, before].includes(await pidOf(docker, container)),
      );
      await allHealthy(docker, [container]);
      return performance.now() - startedMs;
    },
  };
};

const namesOf = (project: string, alias: string, service: Service): readonly string[] =>
  Array.from({ length: service.deploy?.replicas ?? 1 }, (_, index) => `${project}-${alias}-${index + 1}`);

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
