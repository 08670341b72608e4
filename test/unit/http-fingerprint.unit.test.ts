import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { equalJson } from '../../domain/equal-json.ts';
import { canonicalJson, writeCanonicalJson } from '../../shared/json/canonical-json.ts';
import { fingerprintOf, type FingerprintParts } from '../../shared/idempotency/request-fingerprint.ts';

/** JSON values that the ingress accepts: no lone surrogates, no -0. */
const anyJson = fc
  .jsonValue({ stringUnit: 'binary', maxDepth: 4 })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);

/** The same value with the members of all its objects in the opposite order. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  );
};

/** Every value that differs from the given one in one place: a member, element or scalar changed or gone. */
const changedOnce = (value: unknown): unknown[] => {
  if (Array.isArray(value)) {
    return [
      [...value, null],
      ...value.map((_, at) => value.toSpliced(at, 1)),
      ...value.flatMap((item, at) => changedOnce(item).map((other) => value.with(at, other))),
    ];
  }
  if (typeof value !== 'object' || value === null) {
    return [null, true, 1, 'other', {}, []].filter((other) => !Object.is(other, value)).slice(0, 5);
  }
  const members = Object.entries(value);
  return [
    { ...value, 'one more': null },
    ...members.map((_, at) => Object.fromEntries(members.toSpliced(at, 1))),
    ...members.flatMap(([name, member]) => changedOnce(member).map((other) => ({ ...value, [name]: other }))),
  ];
};

const request: FingerprintParts = {
  method: 'put',
  path: '/api/v2/buyer/advertisers/{id}',
  pathValues: { id: '7' },
  body: { name: 'Acme' },
};
const print = (parts: Partial<FingerprintParts>): string =>
  fingerprintOf({ ...request, ...parts }).toString('hex');

describe('canonical JSON', () => {
  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('parses to the same value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(equalJson(JSON.parse(canonicalJson(value)), value)).toBe(true);
      }),
    );
  });

  it('equals the example of RFC 8785', () => {
    const text =
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}';
    expect(canonicalJson(JSON.parse(text))).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts by UTF-16 code units', () => {
    expect(canonicalJson({ '\ufb33': 1, '😀': 2, '€': 3, ö: 4, '1': 5, '\r': 6, '10': 7, '9': 8 })).toBe(
      '{"\\r":6,"1":5,"10":7,"9":8,"ö":4,"€":3,"😀":2,"\ufb33":1}',
    );
  });
});

describe('the pieces of canonical JSON', () => {
  it('are together the whole text, also of lists within lists', () => {
    const long = fc.array(anyJson, { minLength: 0, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(fc.record({ list: long, text: fc.string({ maxLength: 3_000 }) })), (value) => {
        const pieces: string[] = [];
        writeCanonicalJson(value, (piece) => pieces.push(piece));
        expect(pieces.join('')).toBe(canonicalJson(value));
      }),
    );
  });

  it('are several for a list of 10,000 events', () => {
    const events = Array.from({ length: 10_000 }, (_, n) => ({ eventId: `order-${n}`, value: 12.5 }));
    const pieces: string[] = [];
    writeCanonicalJson({ events }, (piece) => pieces.push(piece));
    expect(pieces.length).toBeGreaterThan(50);
    expect(JSON.parse(pieces.join(''))).toEqual({ events });
  });
});

describe('a fingerprint', () => {
  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(anyJson, (body) => {
        expect(print({ body: reversed(body) })).toBe(print({ body }));
      }),
    );
  });

  it('differs for any change in the body', () => {
    fc.assert(
      fc.property(anyJson, (body) => {
        const same = print({ body });
        for (const other of changedOnce(body)) {
          expect(print({ body: other }) === same).toBe(equalJson(other, body));
        }
      }),
    );
  });

  it.each<[string, Partial<FingerprintParts>]>([
    ['method', { method: 'post' }],
    ['path', { path: '/api/v2/buyer/advertisers/{id}/restore' }],
    ['id', { pathValues: { id: '8' } }],
    ['name of an id', { pathValues: { other: '7' } }],
    ['absence of a body', { body: undefined }],
    ['null as body', { body: null }],
    ['emptiness of the body', { body: {} }],
    ['null in the body', { body: { name: null } }],
    ['text that looks like nothing', { body: '' }],
  ])('differs by %s', (_what, parts) => {
    expect(print(parts)).not.toBe(print({}));
  });

  it('differs for each of these bodies', () => {
    const bodies = [
      undefined,
      null,
      '',
      {},
      [],
      'undefined',
      'null',
      0,
      false,
      '0',
      [null],
      [[]],
      { '': null },
    ];
    expect(new Set(bodies.map((body) => print({ body }))).size).toBe(bodies.length);
  });

  it('cannot be forged by text in a path value', () => {
    const one = print({ pathValues: { id: '7"}\n{"name":"Acme' }, body: undefined });
    expect(one).not.toBe(print({ pathValues: { id: '7' }, body: { name: 'Acme' } }));
  });
});
