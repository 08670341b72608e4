import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../src/shared/http/errors.ts';
import { parseJsonBody } from '../../src/shared/http/json-ingress.ts';
import { parseQueryString } from '../../src/shared/http/query-string.ts';

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

/** What Postgres can hold in text and jsonb: no U+0000, no lone surrogates, in members' names too. */
const storable = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => storable(name) && storable(member));
};

/** JSON text as strange as it gets: strings of any code units, big numbers, doubled and forbidden members. */
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
  it('what passes can be written, read again unchanged, and stored', () => {
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
        expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value);
        expect(parse(JSON.stringify(value))).toStrictEqual(value);
      }),
      { numRuns: 2_000 },
    );
    expect(passed).toBeGreaterThan(500);
  });

  it('ordinary JSON always passes', () => {
    const name = fc
      .string({ unit: 'grapheme' })
      .filter((text) => !['__proto__', 'constructor', 'prototype'].includes(text) && !text.includes('\0'));
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.oneof(name, fc.integer(), fc.boolean(), fc.array(name))),
        (value) => {
          expect(parse(JSON.stringify(value))).toEqual(value);
        },
      ),
    );
  });

  it('any bytes give a value or a refusal', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const refused = refusedWith(() => parseJsonBody(bytes));
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

  it('the field is a text of its own: bounded, and storable itself', () => {
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

describe('query strings', () => {
  const known = new Set(['take', 'name', '__proto__x']);

  it('any text gives known parameters or a refusal', () => {
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

  it('what a browser writes is read back', () => {
    const value = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(value, value, (name, other) => {
        const search = new URLSearchParams({ other, name }).toString();
        expect(parseQueryString(search, known)).toEqual({ name });
      }),
    );
  });
});
