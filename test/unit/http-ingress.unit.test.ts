import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../shared/http/errors.ts';
import { parseJsonBody } from '../../shared/http/json-ingress.ts';
import { parseQueryString } from '../../shared/http/query-string.ts';
import { RefusedItem } from '../../shared/json/refused-item.ts';

const parse = (text: string): unknown => parseJsonBody(Buffer.from(text));
const refusedWith = (work: () => unknown): ApiError['body'] | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.body;
    throw error;
  }
};

/** Whether Postgres can store it: no U+0000 or lone surrogates in text or member names. */
const storable = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => storable(name) && storable(member));
};

/** Unusual JSON texts: any code units, big numbers, duplicate and forbidden members. */
const { value: anyJsonText } = fc.letrec<{ value: string }>((tie) => {
  const text = fc
    .oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
      fc.constantFrom('__proto__', 'constructor', '', '\ud800', '\0'),
    )
    .map((string) => JSON.stringify(string));
  return {
    value: fc.oneof(
      { maxDepth: 5, depthSize: 'small' },
      text,
      fc.constantFrom('null', 'true', 'false', '-0', '1e309', '-1e-400', '12345678901234567890'),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
      fc.array(tie('value'), { maxLength: 4 }).map((values) => `[${values.join(' , ')}]`),
      fc
        .array(fc.tuple(text, tie('value')), { maxLength: 4 })
        .map((members) => `{${members.map(([name, value]) => `${name}:${value}`).join(',')}}`),
    ),
  };
});

describe('JSON ingress', () => {
  it('an accepted value can be stored, and serialized and parsed without a change', () => {
    let passed = 0;
    fc.assert(
      fc.property(anyJsonText, (text) => {
        let value: unknown;
        try {
          value = parse(text);
        } catch (error) {
          expect((error as ApiError).body.code).toMatch(/^(BAD_REQUEST|VALIDATION_ERROR)$/);
          return;
        }
        passed += 1;
        expect(storable(value)).toBe(true);
        // Jest's comparison fails for members named `constructor`.
        expect(isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)).toBe(true);
        expect(isDeepStrictEqual(parse(JSON.stringify(value)), value)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(passed).toBeGreaterThan(500);
  });

  it('ordinary JSON is accepted', () => {
    const name = fc
      .string({ unit: 'grapheme' })
      .filter((text) => text !== '__proto__' && !text.includes('\0'));
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.oneof(name, fc.integer(), fc.boolean(), fc.array(name))),
        (value) => {
          expect(parse(JSON.stringify(value))).toEqual(value);
        },
      ),
    );
  });

  it('any bytes result in a value or a refusal', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const refused = refusedWith(() => parseJsonBody(Buffer.from(bytes)));
        expect(
          refused === undefined || refused.code === 'BAD_REQUEST' || refused.code === 'VALIDATION_ERROR',
        ).toBe(true);
      }),
    );
  });

  it('200,000 levels are refused without recursion', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const text = `${open.repeat(200_000)}1${close.repeat(200_000)}`;
      expect(refusedWith(() => parse(text))).toMatchObject({
        code: 'VALIDATION_ERROR',
        message: expect.stringContaining('nested deeper than 32 levels'),
      });
    }
  });

  it('a million values are accepted and one more is refused, in any grouping', () => {
    const lists = (counts: readonly number[]): string =>
      `[${counts.map((count) => `[${Array(count).fill('0').join()}]`).join()}]`;
    expect(refusedWith(() => parse(lists([999_999])))).toBeUndefined();
    for (const text of [lists([1_000_000]), lists(Array(1_000).fill(1_000))]) {
      expect(refusedWith(() => parse(text))).toMatchObject({
        message: expect.stringContaining('more than 1000000 values'),
      });
    }
  });

  it('100,000 members of an audience with every identifier are accepted', () => {
    const [externalId, hashedEmail, hashedPhone] = ['id', 'a'.repeat(64), 'b'.repeat(64)];
    const member = { externalId, hashedEmail, hashedPhone, uids: [{ type: 'uid2', value: 'c' }] };
    const body = { audiences: [{ audienceId: 'a', add: Array.from({ length: 100_000 }, () => member) }] };
    expect(refusedWith(() => parse(JSON.stringify(body)))).toBeUndefined();
  });

  it('the field of a refusal has a limited length and can be stored', () => {
    const field = refusedWith(() => parse(`{"${'n'.repeat(5_000)}":"\\u0000"}`))?.field ?? '';
    expect(field).toBe('n'.repeat(200));
    expect(refusedWith(() => parse(`{"${'n'.repeat(199)}😀":"\\u0000"}`))?.field?.isWellFormed()).toBe(true);
    expect(refusedWith(() => parse('{"a":[{"b":1},{"c":{"d":"\\ud800"}}]}'))?.field).toBe('a.1.c.d');
    expect(refusedWith(() => parse('"\\ud800"'))).toEqual({
      code: 'VALIDATION_ERROR',
      message: expect.any(String),
    });
  });
});

describe('items that are validated one by one', () => {
  const items = (text: string): readonly unknown[] => {
    const { items: read } = parseJsonBody(Buffer.from(text), 'items') as {
      readonly items: readonly unknown[];
    };
    return read;
  };

  it('equal the item as a body: the same value, or refused with its text', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.array(anyJsonText, { minLength: 1, maxLength: 6 }), (texts) => {
        const body = `{"a":"items","b":["items",[]],"items":[ ${texts.join(' ,\n')} ] ,"c":{"items":[1]}}`;
        const read = items(body);
        expect(read.length).toBe(texts.length);
        for (const [at, text] of texts.entries()) {
          if (refusedWith(() => parse(`{"items":[${text}]}`)) === undefined) {
            expect(isDeepStrictEqual(read[at], parse(text))).toBe(true);
          } else {
            refused += 1;
            expect([read[at], read[at]]).toEqual([
              expect.any(RefusedItem),
              expect.objectContaining({ text }),
            ]);
          }
        }
      }),
      { numRuns: 1_000 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  it.each<[string, string, string | undefined]>([
    ['{"value":1e999}', 'a number that is too large', 'value'],
    ['1e999', 'a number that is too large', undefined],
    ['{"a":{"b":[0,"\\u0000"]}}', 'text with U+0000', 'a'],
    ['{"a\\ud800":1}', 'text with half of a surrogate pair', 'a\ud800'],
    ['{"__proto__":1}', 'a member named __proto__', '__proto__'],
    [`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, 'values nested deeper than 32 levels', 'a'],
  ])('name the refused member: %#', (text, fault, member) => {
    expect(items(`{"items":[0,${text},{}]}`)).toEqual([0, { text, fault, member }, {}]);
  });

  it('belong to the last member with the name, also if it contains escapes', () => {
    const body = '{"items":[1,2],"\\u0069tems":[ "]," , {"items":[1e999]} ]}';
    expect(items(body)).toEqual([
      '],',
      { text: '{"items":[1e999]}', fault: 'a number that is too large', member: 'items' },
    ]);
    expect(items('{"items":{"items":[0]}}')).toEqual({ items: [0] });
  });

  it.each([
    ['a number outside the items', '{"items":[1e999],"a":1e999}', 'a'],
    ['a number in another list with the name', '{"items":[],"a":{"items":[1e999]}}', 'a.items.0'],
    ['too many values in all items', `{"items":[${Array(1_000_001).fill('0').join()}]}`, 'items'],
    ['too many values in one item', `{"items":[1,[${Array(1_000_001).fill('0').join()}]]}`, 'items.1'],
  ])('do not prevent a refusal of the body: %s', (_, text, field) => {
    expect(refusedWith(() => items(text))).toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(field).toContain(refusedWith(() => items(text))?.field ?? '');
  });
});

describe('query strings', () => {
  const known = new Set(['take', 'name', '__proto__x']);

  it('any text results in known parameters or a refusal', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webQueryParameters()), (search) => {
        let parameters: Readonly<Record<string, string>>;
        try {
          parameters = parseQueryString(search, known);
        } catch (error) {
          expect((error as ApiError).status).toBe(400);
          return;
        }
        expect(Object.keys(parameters).every((name) => known.has(name))).toBe(true);
        expect(Object.values(parameters).every((value) => value !== '' && storable(value))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('parameters that a browser encodes are decoded', () => {
    const value = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(value, value, (name, other) => {
        const search = new URLSearchParams({ other, name }).toString();
        expect(parseQueryString(search, known)).toEqual({ name });
      }),
    );
  });
});
