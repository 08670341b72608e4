import { setMaxListeners } from 'node:events';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { closeClient } from './node-client.ts';

/** Calls of a discarded client end immediately, its connection shortly after. */
export interface ClientEnds {
  signalOf(client: EventStoreDBClient): AbortSignal;
  giveUp(client: EventStoreDBClient): void;
  closed(): Promise<void>;
}

export const createClientEnds = (): ClientEnds => {
  const ends = new WeakMap<EventStoreDBClient, AbortController>();
  const leaving = new Set<Promise<void>>();
  const endOf = (client: EventStoreDBClient): AbortController => {
    const known = ends.get(client);
    if (known !== undefined) return known;
    const end = new AbortController();
    // Every pending call adds a listener.
    setMaxListeners(0, end.signal);
    ends.set(client, end);
    return end;
  };
  return {
    signalOf: (client) => endOf(client).signal,
    giveUp: (client) => {
      endOf(client).abort();
      const gone = closeClient(client).finally(() => leaving.delete(gone));
      leaving.add(gone);
    },
    closed: async () => {
      await Promise.all(leaving);
    },
  };
};
