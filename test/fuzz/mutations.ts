import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { boundariesOf, edgesOf, unstorablesOf, withBoundary, type Boundary } from './boundary-values.ts';
import type { Mutation } from './draft.ts';
import { hostileHeader } from './hostile-headers.ts';
import { hostileNames, hostileUrlText, hostileValue } from './hostile-values.ts';
import { RawJson, isLeaf, jsonText } from './json-text.ts';
import type { ApiDocument, Operation } from './read-operations.ts';

type WeightedMutation = { readonly weight: number; readonly arbitrary: fc.Arbitrary<Mutation> };

export const mutationOf = (operation: Operation, resolve: ApiDocument['resolve']): fc.Arbitrary<Mutation> =>
  fc.oneof(
    ...bodyMutations(operation, resolve),
    ...queryMutations(operation),
    ...(operation.pathParameters.length === 0 ? [] : [{ weight: 6, arbitrary: pathValue }]),
    { weight: 2, arbitrary: pathForm },
    { weight: 2, arbitrary: otherMethod },
    { weight: 4, arbitrary: hostileHeader },
  );

const bodyMutations = ({ body }: Operation, resolve: ApiDocument['resolve']): readonly WeightedMutation[] => {
  // Operations without a body rarely receive one.
  if (body === undefined) return [{ weight: 1, arbitrary: anyBody }];
  const { schema } = body;
  const placed = (weight: number, values: readonly Boundary[]): readonly WeightedMutation[] => {
    if (values.length === 0) return [];
    const place =
      (one: Boundary): Mutation =>
      (draft) => {
        draft.body = withBoundary(draft.body, schema, one, resolve);
      };
    return [{ weight, arbitrary: fc.constantFrom(...values).map(place) }];
  };
  return [
    ...placed(8, boundariesOf(schema, resolve)),
    ...placed(5, unstorablesOf(schema, resolve)),
    ...placed(4, edgesOf(schema, resolve)),
    { weight: 6, arbitrary: replaced },
    { weight: 4, arbitrary: addedMember },
    { weight: 2, arbitrary: removedMember },
    { weight: 2, arbitrary: wrapped },
    { weight: 4, arbitrary: brokenBytes },
    { weight: 1, arbitrary: anyBody },
  ];
};

const anyBody = hostileValue.map((value): Mutation => (draft) => {
  draft.body = value;
  if (!draft.headers.has('Content-Type')) draft.headers.set('Content-Type', ['application/json']);
});

type Holder = Record<string, unknown>;

/** Each member or item in a body, as its holder and its key. */
const placesIn = (value: unknown): readonly (readonly [Holder, string])[] => {
  if (isLeaf(value)) return [];
  const holder = value as Holder;
  return Object.keys(holder).flatMap((key) => [[holder, key] as const, ...placesIn(holder[key])]);
};

/** Copies the body first: runs share generated values. */
const inPlace =
  (at: number, change: (holder: Holder, key: string) => void): Mutation =>
  (draft) => {
    const root = { body: copy(draft.body) };
    const places = placesIn(root);
    const [holder, key] = places[at % places.length] ?? [root, 'body'];
    change(holder, key);
    draft.body = root.body;
  };

const copy = (value: unknown): unknown => {
  if (isLeaf(value)) return value;
  if (Array.isArray(value)) return value.map(copy);
  return Object.fromEntries(Object.entries(value as object).map(([name, member]) => [name, copy(member)]));
};

/** Defines an own member, also if the prototype has one of that name. */
const define = (holder: object, name: string, value: unknown): void => {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
};

const place = fc.nat(40);

const replaced = fc
  .tuple(place, hostileValue)
  .map(([at, value]) => inPlace(at, (holder, key) => define(holder, key, value)));

const removedMember = place.map((at) =>
  inPlace(at, (holder, key) => {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  }),
);

const addedMember = fc.tuple(place, fc.constantFrom(...hostileNames), hostileValue).map(([at, name, value]) =>
  inPlace(at, (holder, key) => {
    const here = holder[key];
    const target = isLeaf(here) ? holder : (here as object);
    if (Array.isArray(target)) target.push(value);
    else define(target, name, value);
  }),
);

const wrapped = fc.tuple(place, fc.constantFrom('array', 'object', 'text', 'twice')).map(([at, how]) =>
  inPlace(at, (holder, key) => {
    const value = holder[key];
    const text = jsonText(value);
    const forms = {
      array: [value],
      object: { value },
      text,
      twice: new RawJson(`${text},${JSON.stringify(key)}:${text}`),
    };
    // Only an object can contain the same member twice.
    define(
      holder,
      key,
      how === 'twice' && (Array.isArray(holder) || key === 'body') ? forms.array : forms[how],
    );
  }),
);

const edit =
  (change: (bytes: Buffer) => Buffer): Mutation =>
  (draft) => {
    draft.bodyEdits.push(change);
  };

const bytesOf = (...parts: readonly (string | readonly number[] | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

/** Bytes that are not JSON, not UTF-8, or have additional bytes. */
const brokenBytes: fc.Arbitrary<Mutation> = fc.oneof(
  fc.nat(1_000).map((at) => edit((bytes) => bytes.subarray(0, at % Math.max(1, bytes.length)))),
  fc.tuple(fc.nat(1_000), fc.nat(255)).map(([at, byte]) =>
    edit((bytes) => {
      const from = at % Math.max(1, bytes.length);
      return bytes.fill(byte, from, Math.min(from + 1, bytes.length));
    }),
  ),
  fc
    .constantFrom('x', '{}', '\0', ']', '//', 'undefined')
    .map((text) => edit((bytes) => bytesOf(bytes, text))),
  fc
    .constantFrom<readonly number[]>(
      [0xef, 0xbb, 0xbf],
      [0xff, 0xfe],
      [0xc0, 0xaf],
      [0x00],
      [0xed, 0xa0, 0x80],
    )
    .map((start) => edit((bytes) => bytesOf(start, bytes))),
  fc
    .constantFrom(
      '',
      '{',
      '[',
      '"',
      "{'name':1}",
      '{name:1}',
      '{"a":1,}',
      'NaN',
      '-',
      '01',
      '\u2028',
      '{"\\u00":1}',
      'null',
    )
    .map((text) => edit(() => Buffer.from(text))),
  fc.uint8Array({ maxLength: 60 }).map((noise) => edit(() => Buffer.from(noise))),
  fc
    .constantFrom<BufferEncoding>('utf16le', 'latin1')
    .map((coding) => edit((bytes) => Buffer.from(bytes.toString(), coding))),
  fc.constant(edit((bytes) => gzipSync(bytes))),
);

const queryMutations = ({ queryParameters }: Operation): readonly WeightedMutation[] => {
  const foreign = fc.constantFrom(
    '__proto__[polluted]=1',
    'constructor.prototype.polluted=1',
    'a[]=1',
    '&&',
    '=',
    '%',
    '%zz=1',
    'a=%ED%A0%80',
    `b=${'b'.repeat(7_000)}`,
  );
  const unknown = foreign.map((pair): Mutation => (draft) => {
    draft.query = [...draft.query, pair];
  });
  if (queryParameters.length === 0) return [{ weight: 1, arbitrary: unknown }];
  const known = fc
    .tuple(
      fc.constantFrom(...queryParameters.map(({ name }) => name)),
      fc.oneof(hostileUrlText, fc.constant('')),
      fc.constantFrom('replaced', 'repeated', 'bracketed', 'bare', 'missing'),
    )
    .map(([name, value, how]): Mutation => (draft) => {
      const others = draft.query.filter((pair) => !pair.startsWith(`${name}=`));
      const forms = {
        replaced: [...others, `${name}=${value}`],
        repeated: [...draft.query, `${name}=${value}`, `${name}=${value}`],
        bracketed: [...others, `${name}[]=${value}`, `${name}[a]=${value}`],
        bare: [...others, name],
        missing: others,
      };
      draft.query = forms[how];
    });
  return [
    { weight: 8, arbitrary: known },
    { weight: 1, arbitrary: unknown },
  ];
};

const pathValue = fc.tuple(fc.nat(3), hostileUrlText).map(([at, text]): Mutation => (draft) => {
  const index = at % Math.max(1, draft.values.length);
  draft.values = draft.values.map((value, position) => (position === index ? text : value));
});

const pathForm: fc.Arbitrary<Mutation> = fc
  .oneof(
    fc
      .constantFrom(
        '/',
        '//',
        '/.',
        '/..',
        '/%2e',
        ';',
        ';a=1',
        '?',
        '??',
        '#',
        '%',
        '%00',
        '.json',
        '/x',
        '%20',
        '&a=1',
      )
      .map((end) => (path: string) => path + end),
    fc.constantFrom('/', '/.', '/x/..', '/%2e%2e', '//a', '*').map((start) => (path: string) => start + path),
    fc.constant((path: string) => path.toUpperCase()),
    fc.constant((path: string) => path.replaceAll('/', '//')),
    fc.nat(60).map((at) => (path: string) => path.slice(0, 1 + (at % path.length))),
    fc.tuple(fc.nat(60), hostileUrlText).map(
      ([at, text]) =>
        (path: string) =>
          `${path.slice(0, 1 + (at % path.length))}${text}${path.slice(1 + (at % path.length))}`,
    ),
  )
  .map((change): Mutation => (draft) => {
    draft.pathEdits.push(change);
  });

const otherMethod = fc
  .constantFrom(
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'PURGE',
    'get',
    'FOO',
  )
  .map((method): Mutation => (draft) => {
    draft.method = method;
  });
