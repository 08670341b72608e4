import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { advertiserEvents } from '../../src/domain/advertisers/advertiser-events.ts';
import { plainCheckOf } from '../../src/projections/engine/plain-data.ts';

/** JSON as it is read, a member of every name included. */
const json = (text: string): unknown => JSON.parse(text) as unknown;

const values: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  'x',
  ' x ',
  'EUR',
  '2026-01-01T00:00:00.000Z',
  [],
  ['x'],
  ['x', 1],
  [undefined],
  {},
  { a: 'x' },
  { a: ' x ' },
  { a: 'x', b: 1 },
  { a: 'x', b: null },
  { a: 'x', b: undefined },
  { a: 'x', c: 1 },
  { b: 1 },
  { a: ['x'] },
  { a: { a: 'x' } },
  { a: { a: 'x', c: 1 } },
  json('{"__proto__": "x"}'),
  json('{"a": "x", "__proto__": {"b": 1}}'),
  Object.create({ a: 'x' }),
  new Date(0),
];

const text = z.string();
const schemas: Readonly<Record<string, z.ZodType>> = {
  text,
  'text that is cut': text.trim(),
  'text that is made of anything': z.coerce.string(),
  'text of a pattern': text.regex(/^[A-Z]{3}$/),
  'text of a format': z.iso.datetime(),
  'text with a default': text.default('x'),
  'text, caught': text.catch('x'),
  'text that is changed': text.transform((value) => value.toUpperCase()),
  integer: z.int(),
  number: z.number().min(0),
  boolean: z.boolean(),
  one: z.enum(['x', 'EUR']),
  literal: z.literal('x'),
  'one of two': z.union([z.object({ a: text }), z.object({ a: text, b: z.int() })]),
  list: z.array(text),
  'list of some': z.array(text).min(1),
  'list of what is cut': z.array(text.trim()),
  members: z.object({ a: text, b: z.int().optional() }),
  'members, no others': z.strictObject({ a: text, b: z.int().nullable().optional() }),
  'members, any others': z.looseObject({ a: text }),
  'members, texts besides': z.object({ b: z.int() }).catchall(text.trim()),
  'members on a condition': z.object({ a: text }).refine(({ a }) => a === 'y'),
  'a member with a default': z.object({ a: text, b: z.int().default(1) }),
  'a member with a default that may be absent': z.object({ a: text, b: z.int().default(1).optional() }),
  'a member that may be null or absent': z.object({ a: text, b: z.int().optional().nullable() }),
  'text that may be null, on a condition': text.nullable().refine((value) => value !== null),
  'text that may be absent, on a condition': text.optional().refine((value) => value === 'y'),
  'a member that may be absent, on a condition': z.object({
    a: text.optional().refine((value) => value === 'y'),
    b: z.int().optional(),
  }),
  'a member that may be null, on a condition': z.object({
    a: text,
    b: z
      .int()
      .nullable()
      .refine((value) => value !== null),
  }),
  'members of members': z.object({ a: z.object({ a: text }) }),
  'no members': z.object({}),
  record: z.record(text, text),
  'record of what is cut': z.record(text.trim(), text.trim()),
  'record of keys': z.partialRecord(z.enum(['a']), text),
  anything: z.unknown(),
};

const isTakenAsItIs = (schema: z.ZodType, value: unknown): boolean => {
  const { success, data } = schema.safeParse(value);
  // Also a member that is there and undefined would be told from one that is not.
  return success && JSON.stringify(data) === JSON.stringify(value);
};

describe('data that a schema takes as they are', () => {
  it.each(Object.entries(schemas))(
    'are never said to be of what it would change or refuse: %s',
    (_, schema) => {
      const isPlain = plainCheckOf(schema);
      // Twice: some values are remembered.
      for (const value of [...values, ...values]) {
        if (isPlain(value)) expect([value, isTakenAsItIs(schema, value)]).toEqual([value, true]);
      }
    },
  );

  it('are found to be that where the schema is of the usual kinds', () => {
    const usual = [
      [schemas['text'], 'x'],
      [schemas['text of a pattern'], 'EUR'],
      [schemas['text of a format'], '2026-01-01T00:00:00.000Z'],
      [schemas['integer'], -1],
      [schemas['one'], 'EUR'],
      [schemas['list'], ['x']],
      [schemas['members'], { a: 'x', b: 1 }],
      [schemas['members'], { a: 'x' }],
      [schemas['members, no others'], { a: 'x', b: null }],
      [schemas['members of members'], { a: { a: 'x' } }],
      [schemas['no members'], {}],
      [schemas['record'], { a: 'x', b: 'y' }],
    ] as const;
    for (const [schema, value] of usual) expect(plainCheckOf(schema as z.ZodType)(value)).toBe(true);
  });

  it("are those of an advertiser's events, as they are written", () => {
    const created = {
      advertiserId: 7,
      customerId: 1,
      name: 'Shoes',
      sandbox: false,
      primaryCurrency: 'EUR',
      brandCountries: ['DE'],
      channels: ['ctv'],
      optimizationApplyMode: 'AUTO',
      autonomy: { inventorySelection: 'MANUAL', rebriefing: 'MANUAL' },
      controls: { exclusions: [] },
      utmConfig: [{ paramKey: 'a', paramValue: 'b' }],
      frequencyCaps: [{ id: 'c', max_impressions: 3, window: { interval: 1, unit: 'days' } }],
      labels: { team: ['a'] },
    };
    const plain = (type: keyof typeof advertiserEvents, data: unknown): boolean =>
      plainCheckOf(advertiserEvents[type].data)(data);
    expect(plain('AdvertiserCreated', created)).toBe(true);
    expect(plain('AdvertiserUpdated', { changes: { name: 'Boots', description: null } })).toBe(true);
    expect(plain('AdvertiserArchived', {})).toBe(true);
    expect(plain('AdvertiserCreated', { ...created, later: 1 })).toBe(false);
    expect(plain('AdvertiserCreated', { ...created, primaryCurrency: 'euro' })).toBe(false);
  });
});
