import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { boundedText, instant } from '../../domain/values.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { pageOf, pagingParameters, pathIntegerId, queryBoolean } from '../../shared/http/schemas.ts';
import { validate } from '../../shared/http/validate.ts';
import { NOT_RFC_3339 } from '../../domain/rfc3339.ts';

const id = pathIntegerId('thing');
const paging = z.object(pagingParameters(200));
const accepts = (schema: z.ZodType, input: unknown): boolean => schema.safeParse(input).success;

describe('an integer id', () => {
  it('has one spelling', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_147_483_647 }), (number) => {
        expect(id.parse(String(number))).toBe(number);
      }),
    );
  });

  it('in any other spelling is refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.bigInt().map(String), fc.double().map(String)), (text) => {
        const canonical = /^[1-9]\d{0,9}$/.test(text) && Number(text) <= 2_147_483_647;
        expect(accepts(id, text)).toBe(canonical);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(['', '0', '-0', '00', '01', '1 ', '1\n', '1e1', '٣', '2147483648', 1, null, ['1'], true])(
    '%j is not an integer id',
    (input) => {
      expect(accepts(id, input)).toBe(false);
    },
  );
});

describe('a boolean of a query', () => {
  it('accepts only true and false', () => {
    expect([queryBoolean().parse('true'), queryBoolean().parse('false')]).toEqual([true, false]);
    for (const input of ['', 'True', '1', '0', 'yes', 'null', true, null]) {
      expect(accepts(queryBoolean(), input)).toBe(false);
    }
  });
});

describe('an instant', () => {
  it('is parsed by `readRfc3339`; an error is reported once', () => {
    expect(instant().parse('2026-01-31t13:00:00.0001239+01:00')).toBe(Date.parse('2026-01-31T12:00:00Z'));
    const problemsOf = (text: unknown) =>
      instant()
        .safeParse(text)
        .error?.issues.map(({ message }) => message);
    expect(problemsOf('yesterday')).toEqual([NOT_RFC_3339]);
    expect(problemsOf('2016-12-31T23:59:60Z')).toEqual([expect.stringContaining('leap seconds')]);
    expect(problemsOf('0001-01-01T00:00:00Z')).toEqual(['must be from 1970 to 9999 in UTC']);
    expect(problemsOf(5)).toHaveLength(1);
  });
});

describe('bounded text', () => {
  it('counts any code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (text) => {
        const length = Array.from(text).length;
        expect(accepts(boundedText(3, 8), text)).toBe(length >= 3 && length <= 8);
      }),
    );
  });

  it('is not changed', () => {
    expect(boundedText(1, 5).parse(' a\u0301 ')).toBe(' a\u0301 ');
  });
});

describe('a page', () => {
  const pageFor = (query: Record<string, string>): { take: number; skip: number } =>
    pageOf(validate(paging, query));
  const refusedField = (query: Record<string, string>): string | undefined => {
    try {
      pageFor(query);
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(ApiError);
      expect((error as ApiError).body.code).toBe('VALIDATION_ERROR');
      return (error as ApiError).body.field;
    }
  };

  it('has 50 rows from the beginning by default', () => {
    expect(pageFor({})).toEqual({ take: 50, skip: 0 });
  });

  it('is exactly the requested one, under either name', () => {
    fc.assert(
      fc.property(fc.integer({ min: -10, max: 220 }), fc.maxSafeNat(), fc.boolean(), (take, skip, alias) => {
        const [takeName, skipName] = alias ? (['limit', 'offset'] as const) : (['take', 'skip'] as const);
        const query = { [takeName]: String(take), [skipName]: String(skip) };
        if (take >= 1 && take <= 200) expect(pageFor(query)).toEqual({ take, skip });
        else expect(refusedField(query)).toBe(takeName);
      }),
    );
  });

  it('begins at most at 2^53 - 1', () => {
    expect(pageFor({ skip: '9007199254740991' }).skip).toBe(9_007_199_254_740_991);
    expect(refusedField({ skip: '9007199254740992' })).toBe('skip');
    expect(refusedField({ offset: '9007199254740993' })).toBe('offset');
  });

  it.each(['take', 'skip', 'limit', 'offset'])(
    'beyond any limit is one issue that names the sent parameter: %s',
    (name) => {
      for (const value of ['9007199254740992', '9999999999999999', '99999999999999999999']) {
        const issues = paging.safeParse({ [name]: value }).error?.issues ?? [];
        expect(issues.map(({ path }) => path)).toEqual([[name]]);
      }
    },
  );

  it('is refused if two names have different values', () => {
    expect(pageFor({ take: '7', limit: '7', skip: '3', offset: '3' })).toEqual({ take: 7, skip: 3 });
    expect(refusedField({ take: '7', limit: '8' })).toBe('limit');
    expect(refusedField({ skip: '0', offset: '1' })).toBe('offset');
  });
});

describe('validation', () => {
  it('lists the first 100 of many problems', () => {
    const schema = z.object({ items: z.array(z.int()) });
    try {
      validate(schema, { items: Array.from({ length: 500 }, () => 'x') });
      expect('refused').toBe('accepted');
    } catch (error) {
      const { field, details } = (error as ApiError).body;
      expect(field).toBe('items.0');
      expect((details as { issues: unknown[] }).issues).toHaveLength(100);
    }
  });
});
