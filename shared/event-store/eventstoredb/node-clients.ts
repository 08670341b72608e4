import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Endpoint } from './connection-string.ts';
import { createNodeClient } from './node-client.ts';

export interface NodeClients {
  of(endpoint: Endpoint): EventStoreDBClient;
  drop(client: EventStoreDBClient): void;
  keepOnly(client: EventStoreDBClient | undefined): void;
}

export const keyOf = ({ address, port }: Endpoint): string => `${address}:${port}`;

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
