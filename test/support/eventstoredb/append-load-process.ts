/**
 * Appends from a separate process, as a service does: `node append-load-process.js URL WORKERS`. Sends `ready` to its
 * parent, appends until it receives `stop`, and then reports the outcome of all its appends.
 */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  type NewEvent,
} from '../../../shared/event-store/event-store.ts';
import { createEventStoreDbEventStore } from '../../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import type { AppendLoad } from './append-load.ts';

const [, , connectionString = '', workers = '1'] = process.argv;
const EVENTS_OF_STREAM_MAX = 25;

const store = createEventStoreDbEventStore({
  connectionString,
  log: pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }),
  recordPosition: async () => undefined,
});
const outcome: AppendLoad = { accepted: [], refused: [], failed: [], unknown: 0 };
let isStopping = false;

const newEvent = (): NewEvent => ({
  id: randomUUID(),
  type: 'SampleRecorded',
  data: {},
  metadata: {
    customerId: 7,
    actor: 'worker:load',
    requestId: 'request',
    correlationId: 'correlation',
    causationId: 'causation',
    occurredAt: '2026-01-02T03:04:05.678Z',
    schemaVersion: 1,
  },
});

/** Repeats an append until its outcome is known. @returns the stream's last revision; undefined if refused */
const settle = async (
  stream: string,
  event: NewEvent,
  last: number | undefined,
): Promise<number | undefined> => {
  for (let mayBeThere = false; ;) {
    try {
      const { revision } = await store.append(stream, [event], last ?? 'no-stream');
      outcome.accepted.push({ id: event.id, stream, revision });
      return revision;
    } catch (error) {
      if (error instanceof AppendOutcomeUnknownError) {
        mayBeThere = true;
        outcome.unknown += 1;
      } else if (!(error instanceof EventStoreUnavailableError)) {
        outcome.failed.push(String(error));
        throw error;
      } else if (!mayBeThere) {
        outcome.refused.push(event.id);
        return undefined;
      }
    }
  }
};

const work = async (worker: number): Promise<void> => {
  for (let n = 0; !isStopping; n += 1) {
    const stream = `load-${process.pid}-${worker}-${n}`;
    let last: number | undefined;
    while (!isStopping && (last ?? 0) < EVENTS_OF_STREAM_MAX) {
      last = (await settle(stream, newEvent(), last)) ?? last;
    }
  }
};

const working = Promise.all(Array.from({ length: Number(workers) }, (_, worker) => work(worker)));
process.once('message', () => {
  isStopping = true;
  void working
    .catch(() => undefined)
    .then(() => store.close())
    .then(() => process.send?.(outcome, () => process.disconnect()));
});
process.send?.('ready');
