import { readFile } from 'node:fs/promises';
import { GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';
import { parse } from 'yaml';

export interface StoreContainers {
  /** For the superuser. */
  readonly postgresUrl: string;
  readonly redisUrl: string;
  /** The images. */
  readonly origin: string;
  stop(): Promise<void>;
}

const PASSWORD = 'of-a-test';
const START_MS_MAX = 180_000;

interface ComposeFile {
  readonly services: Readonly<Record<string, { readonly image: string }>>;
}

/**
 * A Postgres and a Redis for one test run, of the images that `docker-compose.yml` names.
 * @throws Error if no container engine answers, or one of the images cannot be had
 */
export const startStoreContainers = async (): Promise<StoreContainers> => {
  const { services } = parse(await readFile('docker-compose.yml', 'utf8')) as ComposeFile;
  const imageOf = (service: string): string => services[service]?.image ?? service;
  const starts = [
    new GenericContainer(imageOf('postgres'))
      .withEnvironment({ POSTGRES_PASSWORD: PASSWORD })
      .withCommand(['postgres', '-c', 'max_connections=400', '-c', 'fsync=off'])
      .withExposedPorts(5432)
      // While it prepares its folder it accepts connections a first time, inside the container only.
      .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2)),
    new GenericContainer(imageOf('redis'))
      .withCommand([
        'redis-server',
        '--save',
        '',
        '--maxmemory-policy',
        'noeviction',
        '--protected-mode',
        'no',
      ])
      .withExposedPorts(6379)
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/)),
  ].map((container) => container.withStartupTimeout(START_MS_MAX).start());
  const started = await Promise.allSettled(starts);
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((container) => container.stop()));
  };
  const failed = started.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    await stop();
    throw failed.reason;
  }
  const [postgres, redis] = running as [StartedTestContainer, StartedTestContainer];
  const at = (container: StartedTestContainer, port: number): string =>
    `${container.getHost()}:${container.getMappedPort(port)}`;
  return {
    postgresUrl: `postgres://postgres:${PASSWORD}@${at(postgres, 5432)}/postgres`,
    redisUrl: `redis://${at(redis, 6379)}`,
    origin: `containers of ${imageOf('postgres')} and ${imageOf('redis')}`,
    stop,
  };
};
