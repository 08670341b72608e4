import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';

/** An EventStoreDB that is not the in-memory service. */
export interface RealServer {
  readonly url: string;
  /** Where it came from, for people. */
  readonly origin: string;
  stop(): Promise<void>;
}

/** The same as in `docker-compose.yml`, and chosen by the same variable. */
const IMAGE = 'docker.eventstore.com/eventstore/eventstoredb-ee:24.10.4';
const PORT = 2113;
const START_MS_MAX = 180_000;

const isEngineThere = (): Promise<boolean> =>
  getContainerRuntimeClient().then(
    () => true,
    () => false,
  );

const startContainer = async (image: string): Promise<RealServer> => {
  const container = await new GenericContainer(image)
    .withEnvironment({
      EVENTSTORE_INSECURE: 'true',
      EVENTSTORE_CLUSTER_SIZE: '1',
      EVENTSTORE_RUN_PROJECTIONS: 'None',
      EVENTSTORE_MEM_DB: 'true',
    })
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCodeMatching((status) => status < 300))
    .withStartupTimeout(START_MS_MAX)
    .start();
  return {
    url: `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`,
    origin: `a container of ${image}`,
    stop: async () => {
      await container.stop();
    },
  };
};

/**
 * The server that `EVENTSTORE_URL` names, else one in a container if an engine answers, else none.
 * @throws Error under `CI=true` when an engine answers, but the server does not start in it
 */
export const findRealServer = async (say: (text: string) => void): Promise<RealServer | undefined> => {
  const given = process.env['EVENTSTORE_URL'] ?? '';
  if (given !== '') {
    return { url: given, origin: 'the server that EVENTSTORE_URL names', stop: async () => undefined };
  }
  if (!(await isEngineThere())) {
    say('no real EventStoreDB: EVENTSTORE_URL is not set and no container engine answers');
    return undefined;
  }
  const image = process.env['EVENTSTORE_IMAGE'] ?? IMAGE;
  try {
    return await startContainer(image);
  } catch (error) {
    const text = `no real EventStoreDB: a container engine answers, but ${image} did not start in it`;
    if (process.env['CI'] === 'true') throw new Error(`${text}; set EVENTSTORE_IMAGE`, { cause: error });
    say(`${text}: ${String(error)}`);
    return undefined;
  }
};
