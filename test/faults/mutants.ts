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
 * Deliberate defects, each one a mistake that systems like this have made. The harness must catch every one:
 * a test that cannot fail shows nothing. They replace ports of the service, and each is planted with the events in either
 * store. None is one adapter's own: a mistake about how EventStoreDB tells repeats is planted in `eventstoredb-elections`.
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

/** Replies that are lost more often than a proxy loses them: for defects in what is made of a lost reply. */
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
  /** An unknown outcome is taken for "nothing happened": the key is free, its reserved id forgotten. */
  'unknown-frees-the-key': {
    ...withClaims((store) => ({ lapse: store.release })),
    ...withStore((store) => ({
      append: (stream, events, expected) => appendWithLostReplies(store, stream, events, expected),
    })),
  },
  /** The answer is not kept: the key is free as soon as its command is done. */
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
  /** The command does not recognise its own events when it is repeated. */
  'own-events-not-recognised': withStore((store) => ({
    readStream: (stream, options) =>
      changed(store.readStream(stream, options), (event) => ({
        ...event,
        metadata: { ...event.metadata, causationId: '' },
      })),
  })),
  /** Acknowledged before it is written. */
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
  /** A lost reply is answered as a refusal. */
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
  /** A lost reply is retried as something new. */
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
  /** A lost reply is retried with the same ids where the stream ends now: no store compares ids there. */
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
  /** No expected revision: the last writer wins, the same command writes twice. */
  'any-revision-and-new-ids': withStore((store) => ({
    append: (stream, events) => store.append(stream, withNewIds(events), 'any'),
    readStream: (stream, options) =>
      changed(store.readStream(stream, options), (event) => ({
        ...event,
        metadata: { ...event.metadata, causationId: '' },
      })),
  })),
  /** The checkpoint moves before the rows are there. */
  'checkpoint-before-rows': {
    projection: (projection) => ({
      ...projection,
      apply: async (client, events) => {
        if (events.length > 0 && Math.random() < 0.05) return;
        await projection.apply(client, events);
      },
    }),
  },
  /** Subscribes one event behind its checkpoint. */
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
