import { EventStoreDBClient, UnavailableError } from '@eventstore/db-client';
import { disconnect, toArray } from '../client-kit.ts';
import type { EventLog } from '../event-log.ts';
import {
  startEventStoreService,
  type EventStoreService,
  type EventStoreServiceOptions,
} from '../event-store-service.ts';

/**
 * Waits until the client has replaced its broken connection. A new client would not help: clients of one process share
 * connections to an address, including broken ones.
 */
export const answering = async (client: EventStoreDBClient): Promise<void> => {
  for (let attempts = 1; ; attempts += 1) {
    try {
      await toArray(client.readAll({ maxCount: 1 }));
      return;
    } catch (error) {
      if (!(error instanceof UnavailableError) || attempts === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};

/** A service and its client, for the tests of a `describe`. */
export interface Node {
  readonly service: EventStoreService;
  readonly client: EventStoreDBClient;
  open(options?: EventStoreServiceOptions): Promise<void>;
  shut(): Promise<void>;
  /** Closes the service, and starts one on the same port with the log that `between` returns. */
  restart(between?: (log: EventLog) => EventLog): Promise<void>;
  answering(): Promise<void>;
  countOf(stream: string): number;
}

export const createNode = (): Node => {
  let service: EventStoreService | undefined;
  let client: EventStoreDBClient | undefined;
  const opened = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('The service is opened before the first test.');
    return part;
  };
  return {
    get service() {
      return opened(service);
    },
    get client() {
      return opened(client);
    },
    open: async (options) => {
      service = await startEventStoreService(options);
      client = EventStoreDBClient.connectionString(service.url);
    },
    shut: async () => {
      await disconnect(opened(client));
      await opened(service).close();
    },
    restart: async (between = (log) => log) => {
      const { port, log, close } = opened(service);
      await close();
      service = await startEventStoreService({ port, log: between(log) });
    },
    answering: () => answering(opened(client)),
    countOf: (stream) => opened(service).log.eventsOf(stream).length,
  };
};
