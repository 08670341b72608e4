import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Endpoint } from './connection-string.ts';
import { createNodeClient } from './node-client.ts';

/** One client for each node that is asked or used. */
export interface NodeClients {
  of(endpoint: Endpoint): EventStoreDBClient;
  /** Its connection is lost: the next call to its node goes out on a new one. */
  drop(client: EventStoreDBClient): void;
  /** Drops every client but this one. */
  keepOnly(client: EventStoreDBClient | undefined): void;
}

export const keyOf = ({ address, port }: Endpoint): string => `${address}:${port}`;

/** @param onDropped is given each client that will not be used again */
export const createNodeClients = (
  connectionString: string,
  onDropped: (client: EventStoreDBClient) => void,
): NodeClients => {
  const clients = new Map<string, EventStoreDBClient>();
  let generation = 0;
  const drop = (client: EventStoreDBClient): void => {
    for (const [key, one] of clients) {
      if (one !== client) continue;
      clients.delete(key);
      onDropped(client);
    }
  };
  return {
    of: (endpoint) => {
      const key = keyOf(endpoint);
      const client = clients.get(key) ?? createNodeClient(connectionString, endpoint, generation++);
      clients.set(key, client);
      return client;
    },
    drop,
    keepOnly: (kept) => {
      for (const client of clients.values()) if (client !== kept) drop(client);
    },
  };
};
