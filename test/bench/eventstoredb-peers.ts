import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { pino } from 'pino';
import { copyEvents } from '../../cli/event-move/copy-events.ts';
import { START, type Position } from '../../shared/event-store/event-store.ts';
import { longCallLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import {
  createEventStoreDbEventStore,
  type EventStoreDbEventStore,
} from '../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { disconnect, toArray } from '../support/eventstoredb/client-kit.ts';
import type { Appender } from './append-peers.ts';
import { typicalEvent } from '../support/typical-event.ts';

/** The EventStoreDB client alone, as the baseline for the adapter that uses it. */

export const openAdapter = (url: string): EventStoreDbEventStore =>
  createEventStoreDbEventStore({
    connectionString: url,
    log: pino({ level: 'silent' }),
    limits: longCallLimits,
    recordPosition: async () => undefined,
  });

export const adapterAppender = (url: string): Appender => {
  const store = openAdapter(url);
  return {
    append: () => store.append(`bench-${randomUUID()}`, [typicalEvent()], 'no-stream'),
    close: () => store.close(),
  };
};

/** With credentials in the call, the client sends it separately, not in its batch stream. */
const UNARY = { username: 'none', password: 'none' };

/** The client's own unary append of the same event. Only for servers without TLS, which ignore the credentials. */
export const unaryAppender = (url: string): Appender => {
  const client = EventStoreDBClient.connectionString(url);
  return {
    append: () => {
      const { id, type, data, metadata } = typicalEvent();
      return client.appendToStream(
        `bench-${randomUUID()}`,
        [jsonEvent({ id, type, data, metadata: { ...metadata } })],
        {
          expectedRevision: 'no_stream',
          credentials: UNARY,
        },
      );
    },
    close: () => disconnect(client),
  };
};

/** Fills the log. @returns the position before the new events, for a reader */
export const fillWith = async (store: EventStoreDbEventStore, events: number): Promise<Position> => {
  const start = await store.head();
  const EACH = 500;
  for (let n = 0; n < events; n += EACH) {
    await store.append(`bench-${randomUUID()}`, Array.from({ length: EACH }, typicalEvent), 'no-stream');
  }
  return start;
};

/** Events per second that a subscriber receives until it has caught up. */
export const catchUpRate = async (store: EventStoreDbEventStore, after: Position): Promise<number> => {
  const startMs = performance.now();
  let events = 0;
  for await (const batch of store.subscribeToAll({ after, signal: new AbortController().signal })) {
    events += batch.events.length;
    if (batch.caughtUp) break;
  }
  return events / ((performance.now() - startMs) / 1_000);
};

/** Events per second of one plain read of the same part of the log. */
export const readAllRate = async (url: string, after: Position): Promise<number> => {
  const client = EventStoreDBClient.connectionString(url);
  const [commit = '0', prepare = '0'] = after === START ? [] : after.split('.');
  const fromPosition = after === START ? 'start' : { commit: BigInt(commit), prepare: BigInt(prepare) };
  const startMs = performance.now();
  const { length } = await toArray(client.readAll({ fromPosition }));
  const rate = length / ((performance.now() - startMs) / 1_000);
  await disconnect(client);
  return rate;
};

/** Events per second of a copy of streams with one event each, all of one account. */
export const copyRate = async (to: EventStoreDbEventStore, events: number): Promise<number> => {
  const from = createMemoryEventStore();
  for (let n = 0; n < events; n += 1) {
    await from.append(`bench-1-${randomUUID()}`, [typicalEvent()], 'no-stream');
  }
  const checkpoint = {
    load: async () => undefined,
    save: async () => undefined,
    remove: async () => undefined,
  };
  const startMs = performance.now();
  await copyEvents({ from, to, checkpoint });
  return events / ((performance.now() - startMs) / 1_000);
};
