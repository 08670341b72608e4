import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { evolve, initialState } from '../../domain/advertisers/advertiser.ts';
import { advertiserEvents, type AdvertiserEvent } from '../../domain/advertisers/events.ts';
import type { EventDefinition } from '../../domain/all-events.ts';
import { decodeEvent, type EventSchemas } from '../../projections/engine/decode-event.ts';
import { UnprojectableEventError } from '../../projections/engine/projection.ts';
import { UnknownEventVersionError } from '../../shared/aggregate/event-versions.ts';
import { loadStream } from '../../shared/aggregate/load-stream.ts';
import { toDomainEvent, type StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import {
  START,
  type JsonObject,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { apiErrorOf } from '../../shared/http/api-error-of.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import {
  earlierManifests,
  goldenFileNames,
  goldenHistory,
  knownEvents,
  readGoldenText,
  readManifest,
  sha256,
  type GoldenEvent,
  type Manifest,
} from '../golden/golden-files.ts';
import { goldenStore } from '../golden/golden-keys.ts';
import { evolutionProblems, isAddition, lostSince } from '../golden/schema-evolution.ts';

const recorded = (event: GoldenEvent, revision = 0): RecordedEvent => ({
  ...event,
  revision,
  position: '0' as Position,
  recordedAt: event.metadata.occurredAt,
});

const goldenOf = (type: string): GoldenEvent => {
  const found = goldenHistory().find((event) => event.type === type);
  if (found === undefined) throw new Error(`no golden ${type}`);
  return found;
};

const schemas = Object.fromEntries(
  knownEvents().map(({ type, definition }) => [type, definition]),
) as EventSchemas;

const goldenFiles = (): Map<string, string> =>
  new Map(goldenFileNames().map((file) => [file, readGoldenText(file)]));

describe('stored events', () => {
  it('have a golden file for every type and version, and no schema changed without a new version', () => {
    expect(evolutionProblems(knownEvents(), readManifest(), goldenFiles())).toEqual([]);
  });

  it('have the same golden files as in every earlier commit', () => {
    const earlier = earlierManifests();
    if (earlier.length < 2) console.log('shallow clone: no earlier commit to compare with');
    const manifest = readManifest();
    expect(new Set(earlier.flatMap((before) => lostSince(before, manifest)))).toEqual(new Set());
  });

  it('are decoded to their current version', async () => {
    const store = goldenStore(createMemoryEventStore());
    for (const event of goldenHistory()) await store.append(event.stream, [event], 'any');
    const history = await store.readAll({ after: START, limit: 10_000 });
    expect(history.length).toBeGreaterThanOrEqual(knownEvents().length);
    for (const event of history) {
      expect(decodeEvent(event, schemas).type).toBe(event.type);
    }
  });

  it('are replayed even if a command with their data would now be refused: a name of 300 characters', () => {
    const golden = goldenOf('AdvertiserCreated');
    const name = 'x'.repeat(300);
    const event = recorded({ ...golden, data: { ...golden.data, name } });
    const decoded = decodeEvent(event, advertiserEvents) as AdvertiserEvent;
    expect(evolve(initialState, decoded)).toMatchObject({ name });
  });

  it('may contain members of a later release, which are ignored', () => {
    const golden = goldenOf('CampaignCreated');
    const event = recorded({ ...golden, data: { ...golden.data, addedLater: { a: 1 } } });
    expect(decodeEvent(event, schemas).data).toEqual(golden.data);
  });
});

/** The known events of a program with only the type `ToyMade`. */
const toyEvents = (definition: EventDefinition) =>
  knownEvents([{ category: 'toy', namedAfter: '<customerId>', events: { ToyMade: definition } }]);
const first: EventDefinition = { schemaVersion: 1, data: z.object({ name: z.string() }) };
const content = '[]\n';
const manifestOf = (definition: EventDefinition): Manifest =>
  Object.fromEntries(
    toyEvents(definition).map(({ name, fingerprint, schema, opened }) => [
      name,
      {
        fingerprint,
        files: { [`${name}.json`]: sha256(content) },
        ...({ schema, ...(opened && { opened }) } as Pick<Manifest[string], 'schema' | 'opened'>),
      },
    ]),
  );
const files = new Map([['ToyMade.v1.json', content]]);
const problemsOf = (next: EventDefinition, there = files): readonly string[] =>
  evolutionProblems(toyEvents(next), manifestOf(first), there);

describe('the check of schemas', () => {
  it('accepts an unchanged schema', () => {
    expect(problemsOf(first)).toEqual([]);
  });

  it.each<[string, EventDefinition, RegExp]>([
    [
      'a member is removed',
      { schemaVersion: 1, data: z.object({}) },
      /schema of ToyMade.v1 has changed.*by one/,
    ],
    ['a limit is new', { schemaVersion: 1, data: z.object({ name: z.string().max(9) }) }, /has changed/],
    [
      'a version has no golden file',
      { ...first, schemaVersion: 2, upcasters: [(data) => data] },
      /ToyMade.v2 has no golden/,
    ],
    ['a version has no upcaster', { ...first, schemaVersion: 2 }, /2 and 0 upcasters/],
  ])('finds that %s', (_what, next, problem) => {
    expect(problemsOf(next).join('\n')).toMatch(problem);
  });

  it('finds golden files that are missing, changed or unknown, and missing types', () => {
    expect(problemsOf(first, new Map())).toEqual([expect.stringMatching(/ToyMade.v1.json is missing/)]);
    expect(problemsOf(first, new Map([['ToyMade.v1.json', '[1]']]))).toEqual([
      expect.stringMatching(/has changed/),
    ]);
    expect(problemsOf(first, new Map([...files, ['Other.v1.json', content]]))).toEqual([
      expect.stringMatching(/not in the manifest/),
    ]);
    expect(evolutionProblems([], manifestOf(first), files)).toEqual([
      expect.stringMatching(/ToyMade.v1 was removed/),
    ]);
  });

  it('finds entries that were removed or changed in both the manifest and the golden files', () => {
    const before = manifestOf(first);
    const entry = before['ToyMade.v1'] as Manifest[string];
    const since = (now: Manifest): string => lostSince(before, now).join('\n');
    const other = { 'ToyMade.v1.json': sha256('[1]') };
    const more = { ...entry.files, 'ToyMade.v1.2.json': sha256('[2]') };
    const added: EventDefinition = {
      ...first,
      data: z.object({ name: z.string(), more: z.string().optional() }),
    };
    expect(since({})).toMatch(/ToyMade.v1 is missing from the manifest/);
    expect(since({ 'ToyMade.v1': { ...entry, files: {} } })).toMatch(/ToyMade.v1.json differs/);
    expect(since({ 'ToyMade.v1': { ...entry, files: other } })).toMatch(/ToyMade.v1.json differs/);
    expect(since(manifestOf({ ...first, data: z.object({}) }))).toMatch(/schema of ToyMade.v1 differs/);
    expect(since({ ...manifestOf(added), 'ToyMade.v2': entry })).toBe('');
    expect(since({ 'ToyMade.v1': { ...entry, files: more } })).toBe('');
  });

  it('also checks encrypted members in their decrypted form', () => {
    const sealed = (item: z.ZodType): EventDefinition => ({
      schemaVersion: 1,
      data: z.object({ items: z.array(item) }),
      stored: z.object({ sealed: z.string() }),
    });
    const [text, pair] = [sealed(z.string()), sealed(z.tuple([z.string(), z.string()]))];
    const before = manifestOf(text);
    expect(evolutionProblems(toyEvents(text), before, files)).toEqual([]);
    expect(evolutionProblems(toyEvents(pair), before, files)).toEqual([expect.stringMatching(/has changed/)]);
    expect(lostSince(before, manifestOf(pair))).toEqual([expect.stringMatching(/differs/)]);
  });

  it('distinguishes additions that older programs ignore from other changes', () => {
    const before = z.toJSONSchema(z.object({ a: z.object({ b: z.string() }) }), { io: 'input' });
    const after = (shape: z.ZodType): boolean =>
      isAddition(before, z.toJSONSchema(z.object({ a: shape }), { io: 'input' }));
    expect(after(z.object({ b: z.string(), c: z.string().optional() }))).toBe(true);
    expect(after(z.object({ b: z.string(), c: z.string() }))).toBe(false);
    expect(after(z.object({ b: z.string().optional() }))).toBe(false);
    expect(after(z.object({ b: z.int() }))).toBe(false);
    expect(after(z.object({}))).toBe(false);
    const strict = (shape: z.ZodRawShape) => z.toJSONSchema(z.strictObject(shape), { io: 'input' });
    expect(isAddition(strict({}), strict({ a: z.string().optional() }))).toBe(false);
  });
});

describe('versions', () => {
  /** In version 1 a price was a string, in version 2 it had no currency. */
  const priceEvents = {
    PriceSet: {
      schemaVersion: 3,
      data: z.object({ amount: z.number(), currency: z.string() }),
      upcasters: [
        ({ price, ...data }: JsonObject): JsonObject => ({ ...data, amount: Number(price) }),
        (data: JsonObject): JsonObject => ({ ...data, currency: 'EUR' }),
      ],
    },
  } as const;
  const prices: readonly [number, JsonObject][] = [
    [1, { price: '1.5' }],
    [2, { amount: 2.5 }],
    [3, { amount: 3.5, currency: 'USD' }],
  ];
  const priced = (version: number, data: JsonObject): RecordedEvent => {
    const golden = goldenOf('AccountOpened');
    const metadata = { ...golden.metadata, schemaVersion: version };
    return recorded({ ...golden, type: 'PriceSet', data: data as GoldenEvent['data'], metadata });
  };
  const now = [
    { amount: 1.5, currency: 'EUR' },
    { amount: 2.5, currency: 'EUR' },
    { amount: 3.5, currency: 'USD' },
  ];
  const aggregate = {
    events: priceEvents,
    initialState: [] as readonly unknown[],
    evolve: (state: readonly unknown[], { data }: StorableEvent) => [...state, data],
    decide: () => ({ events: [] }),
  };

  it('are upcast to the current one for read models and commands', async () => {
    expect(prices.map(([version, data]) => decodeEvent(priced(version, data), priceEvents).data)).toEqual(
      now,
    );
    expect(prices.map(([version, data]) => toDomainEvent(priced(version, data), priceEvents).data)).toEqual(
      now,
    );

    const store = createMemoryEventStore();
    const stored = prices.map(([version, data], n) => ({
      ...priced(version, data),
      id: `00000000-0000-4000-8000-00000000000${n}`,
    }));
    await store.append('toy-1', stored, 'no-stream');
    expect((await loadStream(store, aggregate, 'toy-1', {})).state).toEqual(now);
    const snapshots = { every: 1, load: async () => undefined, save: () => undefined };
    expect((await loadStream(store, aggregate, 'toy-1', { snapshots })).state).toEqual(now);
  });

  it('with invalid data are refused with a plain message', () => {
    const event = priced(3, { amount: 'many', currency: 'EUR' });
    expect(() => decodeEvent(event, priceEvents)).toThrow(/: amount must be a number$/);
    expect(() => decodeEvent(priced(3, { amount: 1 }), priceEvents)).toThrow(/: currency is required$/);
  });

  it('of a newer release are neither returned nor used for decisions', async () => {
    for (const version of [99, 4, 0]) {
      const event = priced(version, { amount: 1 });
      expect(() => decodeEvent(event, priceEvents)).toThrow(UnprojectableEventError);
      expect(() => toDomainEvent(event, priceEvents)).toThrow(UnknownEventVersionError);
      expect(apiErrorOf(new UnknownEventVersionError(event))).toMatchObject({
        body: { code: 'SERVICE_UNAVAILABLE' },
        headers: { 'Retry-After': '5' },
      });
    }
    const store = createMemoryEventStore();
    await store.append('toy-1', [priced(99, { amount: 1 })], 'no-stream');
    await expect(loadStream(store, aggregate, 'toy-1', {})).rejects.toThrow(UnknownEventVersionError);
  });
});
