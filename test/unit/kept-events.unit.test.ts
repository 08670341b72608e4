import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { createKeptEvents } from '../../src/projections/engine/kept-events.ts';
import type { Position, RecordedEvent } from '../../src/shared/event-store/event-store.ts';

const event = (n: number, stream: string, revision: number, text: string): RecordedEvent => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  type: `Type ${n % 3}`,
  stream,
  revision,
  data: { n, text, nested: { list: [n, null, true] } },
  metadata: {
    customerId: 1,
    actor: 'worker:test',
    requestId: 'request',
    correlationId: 'correlation',
    causationId: 'causation',
    occurredAt: new Date(Date.UTC(2026, 0, 1) + n).toISOString(),
    schemaVersion: 1 + (n % 2),
  },
  position: String(n).padStart(16, '0') as Position,
  recordedAt: '2026-01-01T00:00:00.000Z',
});

/** As a store has it that reads no more than bytes, of a page that is used again for something else. */
const ofPage = (one: RecordedEvent, page: Buffer): RecordedEvent => {
  const written = page.write(JSON.stringify(one.data), 3);
  return { ...one, dataUtf8: page.subarray(3, 3 + written) };
};

/** Events are kept in pages of a mebibyte: some are longer than one, others do not fit behind the last. */
const texts = ['', 'é€😀', 'x'.repeat(700_000), 'ü'.repeat(400_000), '€'.repeat(1_000_000), 'y'];

it('gives back what was kept, stream by stream, in order, whatever its size', () => {
  const kept = createKeptEvents();
  const page = Buffer.alloc(8 * 2 ** 20);
  const all: RecordedEvent[] = [];
  for (let n = 0; n < 24; n += 1) {
    // Of the third stream the first events are written already.
    const stream = ['a-1', 'b-2', 'c-3'][(n + (n >> 2)) % 3] as string;
    const revision = all.filter((one) => one.stream === stream).length + (stream === 'c-3' ? 7 : 0);
    const one = event(n, stream, revision, texts[n % texts.length] as string);
    all.push(one);
    kept.add([n % 2 === 0 ? one : ofPage(one, page)]);
    page.fill(0);
  }
  const streams = [...kept.streams.values()];
  expect(streams.map(({ stream }) => stream)).toEqual([...new Set(all.map(({ stream }) => stream))]);
  for (const of of streams) {
    const own = all.filter(({ stream }) => stream === of.stream);
    expect(of.revision).toBe(own[0]?.revision);
    expect([...kept.eventsOf(of)]).toEqual(
      own.map(({ type, stream, revision, data, metadata: { occurredAt, schemaVersion } }) => ({
        type,
        stream,
        revision,
        data,
        metadata: { occurredAt, schemaVersion },
      })),
    );
  }
  const texted = all.reduce((sum, { data }) => sum + Buffer.byteLength(JSON.stringify(data)), 0);
  expect(kept.bytes).toBeGreaterThan(texted);
  // Of the page before a large one the rest is lost.
  expect(kept.bytes).toBeLessThan(1.5 * texted);
});

it('keeps whatever an event may have, for who folds it to judge', () => {
  const kept = createKeptEvents();
  const strange = [
    [2 ** 40, 1, '2026'],
    [2 ** 40 + 1, -1, 'x'.repeat(70_000)],
    [2 ** 40 + 2, 2 ** 40, ''],
    [2 ** 40 + 3, 1.5, '€'],
  ] as const;
  const all = strange.map(([revision, schemaVersion, occurredAt], n): RecordedEvent => {
    const one = event(n, 'a-1', revision, 'x');
    return { ...one, metadata: { ...one.metadata, schemaVersion, occurredAt } };
  });
  kept.add(all);
  const [stream] = kept.streams.values();
  expect(stream?.revision).toBe(2 ** 40);
  const read = stream === undefined ? [] : [...kept.eventsOf(stream)];
  expect(
    read.map(({ revision, metadata }) => [revision, metadata.schemaVersion, metadata.occurredAt]),
  ).toEqual(strange);
});

it('keeps more types than two bytes can number', () => {
  const kept = createKeptEvents();
  const count = 2 ** 16 + 2;
  for (let n = 0; n < count; n += 1) kept.add([{ ...event(n, 'a-1', n, ''), type: `Type ${n}` }]);
  const [stream] = kept.streams.values();
  const types = stream === undefined ? [] : [...kept.eventsOf(stream)].map(({ type }) => type);
  expect([types.length, types.at(-1), types[1]]).toEqual([count, `Type ${count - 1}`, 'Type 1']);
});

/** What is in use: what was only passing through is collected first. */
const bytesInUse = (): number => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
};

it('says what it takes, also where large events leave much of their pages free', () => {
  const before = bytesInUse();
  const kept = createKeptEvents();
  const text = 'x'.repeat(540_000);
  for (let n = 0; n < 40; n += 1) kept.add([event(n, 'a-1', n, text)]);
  expect(kept.bytes).toBeGreaterThan(0.9 * (bytesInUse() - before));
  expect(kept.bytes).toBeGreaterThan(39 * 2 ** 20);
});
