import { setMaxListeners } from 'node:events';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { hangUp } from './node-client.ts';

/** Discards clients: their calls end immediately, their connections shortly after. */
export interface ClientEnds {
  signalOf(client: EventStoreDBClient): AbortSignal;
  giveUp(client: EventStoreDBClient): void;
  /** Resolves when the connections of all discarded clients are closed, or the wait for them has timed out. */
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
      const gone = hangUp(client).finally(() => leaving.delete(gone));
      leaving.add(gone);
    },
    closed: async () => {
      await Promise.all(leaving);
    },
  };
};
