import { appendFileSync, readFileSync } from 'node:fs';
import type { Segment, Segments } from '../../command/conversions/segments.ts';
import { sourceOfStream, typeAt, type ConversionsLogged } from '../../domain/conversions/events.ts';
import { fingerprintsOf } from '../../domain/conversions/fingerprint.ts';
import { systemClock } from '../../shared/async/clock.ts';
import type { Replacements } from '../../app/service.ts';
import type { NewEvent } from '../../shared/event-store/event-store.ts';

/** Planted defects of the conversion ledger: plausible but wrong designs. The run must catch each one. */

const isConversions = (stream: string): boolean => sourceOfStream(stream) !== undefined;

const fingerprintsIn = (sourceId: string, events: readonly NewEvent[]): Uint32Array => {
  const into = fingerprintsOf(sourceId);
  const all = events.flatMap(({ data }) => {
    const logged = data as unknown as ConversionsLogged;
    return logged.eventIds.map((id, item) => {
      const words = new Uint32Array(4);
      into(typeAt(logged, item), id, words, 0);
      return [...words];
    });
  });
  return new Uint32Array(all.flat());
};

const file = (): string => process.env['CONVERSION_RESERVATIONS'] ?? '';

const reserve = (stream: string, events: readonly NewEvent[]): void => {
  const { sourceId } = sourceOfStream(stream) ?? { sourceId: '' };
  appendFileSync(
    file(),
    `${sourceId} ${Buffer.from(fingerprintsIn(sourceId, events).buffer).toString('base64')}\n`,
  );
};

const reservedOf = (sourceId: string): Uint32Array => {
  const lines = readFileSync(file(), { encoding: 'utf8', flag: 'a+' }).split('\n');
  const own = lines.flatMap((line) => {
    const [source, words = ''] = line.split(' ');
    return source === sourceId ? [Buffer.from(words, 'base64')] : [];
  });
  const bytes = Buffer.concat(own);
  const words = new Uint32Array(bytes.length / 4);
  Buffer.from(words.buffer).set(bytes);
  return words;
};

const together = (one: Uint32Array, other: Uint32Array): Uint32Array => {
  const both = new Uint32Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
};

const nothing: Segment = {
  firstRevision: 0,
  lastRevision: -1,
  recordedAtMs: systemClock.now(),
  fingerprints: new Uint32Array(),
  commands: new Uint32Array(),
};

const withSegments = (change: (segments: Segments) => Partial<Segments>): Replacements => ({
  segments: (segments) => ({ ...segments, ...change(segments) }),
});

export const conversionMutants: Readonly<Record<string, Replacements>> = {
  /** Stores the keys before the events. A crash between both makes duplicates of events that were never stored. */
  'conversions-reserve-then-append': {
    store: (store) => ({
      ...store,
      append: async (stream, events, expected) => {
        if (isConversions(stream)) reserve(stream, events);
        return store.append(stream, events, expected);
      },
    }),
    ...withSegments((segments) => ({
      before: async (customerId, sourceId, revision) => {
        const page = await segments.before(customerId, sourceId, revision);
        if (revision !== Number.MAX_SAFE_INTEGER) return page;
        const [first = nothing, ...rest] = page;
        return [{ ...first, fingerprints: together(first.fingerprints, reservedOf(sourceId)) }, ...rest];
      },
    })),
  },
  /** Appends without the revision on which the decision was made. */
  'conversions-append-at-any': {
    store: (store) => ({
      ...store,
      append: (stream, events, expected) =>
        store.append(stream, events, isConversions(stream) ? 'any' : expected),
    }),
  },
  /** Treats the table as complete up to its last row, and does not look for missing rows in the stream. */
  'conversions-trust-segments': withSegments((segments) => ({
    before: async (customerId, sourceId, revision) => {
      const page = await segments.before(customerId, sourceId, revision);
      return page.map((row, at) => ({ ...row, firstRevision: (page[at + 1]?.lastRevision ?? -1) + 1 }));
    },
  })),
  /** Treats a lost reply as a failed append, and appends the same events again as new ones. */
  'conversions-own-events-not-recognised': {
    store: (store) => ({
      ...store,
      readStream: async function* (stream, options) {
        for await (const event of store.readStream(stream, options)) {
          const metadata = { ...event.metadata, causationId: '00000000-0000-4000-8000-000000000001' };
          yield isConversions(stream) ? { ...event, metadata } : event;
        }
      },
    }),
    ...withSegments(() => ({ before: async () => [], ofCommand: async () => [] })),
  },
};
