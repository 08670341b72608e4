import { randomUUID } from 'node:crypto';
import type { Replacements } from '../../app/service.ts';
import { sleep } from '../../shared/async/backoff.ts';
import {
  AppendOutcomeUnknownError,
  type EventStore,
  type NewEvent,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { IdempotencyStore } from '../../shared/idempotency/idempotency-store.ts';

/**
 * Planted defects: mistakes that real systems have made. The harness must catch each one, because a test that cannot
 * fail proves nothing. They replace ports of the service, so each is tested with both event stores.
 * `eventstoredb-elections` tests a defect of the EventStoreDB adapter.
 */

const withStore = (change: (store: EventStore) => Partial<EventStore>): Replacements => ({
  store: (store) => ({ ...store, ...change(store) }),
});
const withClaims = (change: (store: IdempotencyStore) => Partial<IdempotencyStore>): Replacements => ({
  idempotency: (store) => ({ ...store, ...change(store) }),
});

const withNewIds = (events: readonly NewEvent[]): readonly NewEvent[] =>
  events.map((event) => ({ ...event, id: randomUUID() }));

async function* changed(
  events: AsyncIterable<RecordedEvent>,
  change: (event: RecordedEvent) => RecordedEvent,
): AsyncGenerator<RecordedEvent> {
  for await (const event of events) yield change(event);
}

/** Loses replies more often than a proxy does, for defects in the handling of lost replies. */
const appendWithLostReplies: (
  store: EventStore,
  ...appended: Parameters<EventStore['append']>
) => ReturnType<EventStore['append']> = async (store, ...appended) => {
  const result = await store.append(...appended);
  if (Math.random() < 0.05) throw new AppendOutcomeUnknownError('the reply was lost');
  return result;
};

export const mutants: Readonly<Record<string, Replacements>> = {
  /** Every attempt is a new command. */
  'random-command-id': withClaims((store) => ({
    claim: async (request) => {
      const claim = await store.claim(request);
      return claim.outcome === 'claimed' ? { ...claim, commandId: randomUUID() } : claim;
    },
  })),
  /** A repeated creation gets another integer id. */
  'reserved-id-not-kept': withClaims((store) => ({
    claim: async (request) => {
      const claim = await store.claim(request);
      return claim.outcome === 'claimed' ? { ...claim, reserved: request.reserved } : claim;
    },
  })),
  /** Treats an unknown outcome as a failure: frees the key and forgets its reserved id. */
  'unknown-frees-the-key': {
    ...withClaims((store) => ({ lapse: store.release })),
    ...withStore((store) => ({
      append: (stream, events, expected) => appendWithLostReplies(store, stream, events, expected),
    })),
  },
  /** Does not store the answer: the key is free when its command is completed. */
  'answer-not-kept': withClaims((store) => ({ complete: (claim) => store.release(claim) })),
  /** A replay has the right body and the wrong status. */
  'replay-without-its-status': withClaims((store) => ({
    claim: async (request) => {
      const claim = await store.claim(request);
      return claim.outcome === 'done' ? { ...claim, answer: { ...claim.answer, status: 200 } } : claim;
    },
  })),
  /** Any request may use any key. */
  'fingerprint-ignored': withClaims((store) => ({
    claim: (request) => store.claim({ ...request, fingerprint: Buffer.alloc(32) }),
  })),
  /** A repeated command does not recognise its own events. */
  'own-events-not-recognised': withStore((store) => ({
    readStream: (stream, options) =>
      changed(store.readStream(stream, options), (event) => ({
        ...event,
        metadata: { ...event.metadata, causationId: '' },
      })),
  })),
  /** Acknowledges before writing. */
  'append-acknowledged-early': withStore((store) => ({
    append: async (stream, events, expected) => {
      const head = await store.head();
      void sleep(150)
        .then(() => store.append(stream, events, expected))
        .catch(() => undefined);
      const revision = (typeof expected === 'number' ? expected : -1) + events.length;
      return { revision, position: head, repeated: false };
    },
  })),
  /** Answers a lost reply as a refusal. */
  'timeout-taken-for-failure': withStore((store) => ({
    append: async (stream, events, expected) => {
      try {
        return await appendWithLostReplies(store, stream, events, expected);
      } catch (error) {
        if (!(error instanceof AppendOutcomeUnknownError)) throw error;
        throw new ApiError({ code: 'CONFLICT', message: 'Not written.' });
      }
    },
  })),
  /** Retries a lost reply with new ids. */
  'retried-with-new-ids': withStore((store) => ({
    append: async (stream, events, expected) => {
      try {
        return await appendWithLostReplies(store, stream, events, expected);
      } catch (error) {
        if (!(error instanceof AppendOutcomeUnknownError)) throw error;
        return store.append(stream, withNewIds(events), 'any');
      }
    },
  })),
  /** Retries a lost reply with the same ids at the stream's new end, where no store compares ids. */
  'retried-at-the-newer-revision': withStore((store) => ({
    append: async (stream, events, expected) => {
      try {
        return await appendWithLostReplies(store, stream, events, expected);
      } catch (error) {
        if (!(error instanceof AppendOutcomeUnknownError)) throw error;
        let last: number | undefined;
        for await (const { revision } of store.readStream(stream, { direction: 'backward', limit: 1 })) {
          last = revision;
        }
        return store.append(stream, events, last ?? 'no-stream');
      }
    },
  })),
  /** Uses no expected revision: the last writer wins, and the same command writes twice. */
  'any-revision-and-new-ids': withStore((store) => ({
    append: (stream, events) => store.append(stream, withNewIds(events), 'any'),
    readStream: (stream, options) =>
      changed(store.readStream(stream, options), (event) => ({
        ...event,
        metadata: { ...event.metadata, causationId: '' },
      })),
  })),
  /** Moves the checkpoint before writing the rows. */
  'checkpoint-before-rows': {
    projection: (projection) => ({
      ...projection,
      apply: async (client, events) => {
        if (events.length > 0 && Math.random() < 0.05) return;
        await projection.apply(client, events);
      },
    }),
  },
  /** Subscribes one event after its checkpoint. */
  'position-off-by-one': withStore((store) => ({
    subscribeToAll: async function* (options) {
      let isFirst = true;
      for await (const batch of store.subscribeToAll(options)) {
        yield isFirst ? { ...batch, events: batch.events.slice(1) } : batch;
        if (batch.events.length > 0) isFirst = false;
      }
    },
  })),
};
