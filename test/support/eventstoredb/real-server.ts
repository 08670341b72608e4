import { describe, it } from '@jest/globals';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { nodeCommand, startEventStoreNodes } from './event-store-nodes.ts';

/** An EventStoreDB other than the in-memory service. */
export interface RealServer {
  readonly url: string;
  /** A description of the server's origin. */
  readonly origin: string;
  stop(): Promise<void>;
}

/** The image of `docker-compose.yml`, selected by the same variable. */
const IMAGE = 'docker.eventstore.com/eventstore/eventstoredb-ee:24.10.4';
const PORT = 2113;
const START_MS_MAX = 180_000;
const OUTPUT_MAX = 2_000;

const isEngineThere = (): Promise<boolean> =>
  getContainerRuntimeClient().then(
    () => true,
    () => false,
  );

/** @throws Error with the end of the container's output, which the library's own error lacks */
const startContainer = async (image: string): Promise<RealServer> => {
  let output = '';
  const started = new GenericContainer(image)
    .withLogConsumer((log) => log.on('data', (line: Buffer | string) => (output += String(line))))
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
  const container = await started.catch((error: unknown) => {
    const said = output === '' ? '' : `; its output ends with:\n${output.slice(-OUTPUT_MAX)}`;
    throw new Error(`${String(error)}${said}`, { cause: error });
  });
  return {
    url: `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`,
    origin: `a container of ${image}`,
    stop: async () => {
      await container.stop();
    },
  };
};

/**
 * A node that `EVENTSTORE_COMMAND` starts, else the server of `EVENTSTORE_URL`, else one in a container if an engine
 * answers. Otherwise it prints a line.
 */
export const findRealServer = async (say: (text: string) => void): Promise<RealServer | undefined> => {
  const command = nodeCommand();
  if (command !== undefined) {
    const { url, stop } = await startEventStoreNodes(command);
    return { url, origin: 'a node that EVENTSTORE_COMMAND started', stop };
  }
  const given = process.env['EVENTSTORE_URL'] ?? '';
  if (given !== '') {
    return { url: given, origin: 'the server that EVENTSTORE_URL names', stop: async () => undefined };
  }
  const none = 'no real EventStoreDB was tested: neither EVENTSTORE_COMMAND nor EVENTSTORE_URL is set';
  if (!(await isEngineThere())) {
    say(`${none}, and no container engine answers`);
    return undefined;
  }
  const image = process.env['EVENTSTORE_IMAGE'] ?? IMAGE;
  try {
    return await startContainer(image);
  } catch (error) {
    const reason = `${image} did not start in a container: ${String(error)}`;
    say(`${none}, and ${reason}`);
    // The name of a skipped test is in every report, also where only failures and names are shown.
    describe.skip('EventStoreDB in a container', () => it(reason, () => undefined));
    return undefined;
  }
};
