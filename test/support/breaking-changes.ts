import { isDeepStrictEqual } from 'node:util';

type Json = Readonly<Record<string, unknown>>;

/** A type that a client sends may only become wider. A type that it receives may only become narrower. */
type Direction = 'sent' | 'received';

const methods = ['get', 'put', 'post', 'delete', 'patch'];

/**
 * Incompatible changes for clients of an earlier OpenAPI 3.1 document, one text each. A new enumeration value in an
 * answer does not count: clients must accept unknown values.
 */
export const breakingChanges = (before: Json, after: Json): readonly string[] => {
  const compare = compareSchemas(before, after);
  return operationsOf(before).flatMap(([path, method, operation]) => {
    const where = `${method.toUpperCase()} ${path}`;
    const now = objectAt(after, 'paths', path, method);
    if (now === undefined) return [`${where} is gone`];
    return [
      ...parameterChanges(compare, where, operation, now),
      ...bodyChanges(compare, `${where} body`, operation['requestBody'], now['requestBody']),
      ...Object.keys(objectAt(operation, 'responses') ?? {})
        .filter((status) => status.startsWith('2'))
        .flatMap((status) => {
          const there = objectAt(now, 'responses', status);
          if (there === undefined) return [`${where} ${status} is gone`];
          const said = objectAt(operation, 'responses', status);
          return contentChanges(compare, `${where} ${status}`, said, there, 'received');
        }),
    ];
  });
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objectAt = (value: unknown, ...names: readonly string[]): Json | undefined => {
  const found = names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), value);
  return isObject(found) ? found : undefined;
};

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

const operationsOf = (document: Json): readonly (readonly [string, string, Json])[] =>
  Object.entries(objectAt(document, 'paths') ?? {}).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = objectAt(item, method);
      return operation === undefined ? [] : [[path, method, operation] as const];
    }),
  );

type Compare = (where: string, before: unknown, after: unknown, direction: Direction) => readonly string[];

const nameOf = (parameter: Json): string => `${String(parameter['in'])} ${String(parameter['name'])}`;

const parameterChanges = (compare: Compare, where: string, before: Json, after: Json): readonly string[] => {
  const [earlier, now] = [before, after].map(
    (operation) => new Map(listOf(operation['parameters']).map((one) => [nameOf(one), one])),
  ) as [Map<string, Json>, Map<string, Json>];
  return [
    ...[...now]
      .filter(([name, { required }]) => required === true && earlier.get(name)?.['required'] !== true)
      .map(([name]) => `${where} ${name} is required now`),
    ...[...earlier].flatMap(([name, { schema }]) => {
      const there = now.get(name);
      if (there === undefined) return [`${where} ${name} is gone`];
      return compare(`${where} ${name}`, schema, there['schema'], 'sent');
    }),
  ];
};

const bodyChanges = (compare: Compare, where: string, before: unknown, after: unknown): readonly string[] => {
  const isRequired = isObject(after) && after['required'] === true;
  if (isRequired && !(isObject(before) && before['required'] === true)) return [`${where} is required now`];
  return isObject(before) ? contentChanges(compare, where, before, after, 'sent') : [];
};

const contentChanges = (
  compare: Compare,
  where: string,
  before: unknown,
  after: unknown,
  direction: Direction,
): readonly string[] =>
  Object.entries(objectAt(before, 'content') ?? {}).flatMap(([mediaType, media]) => {
    const there = objectAt(after, 'content', mediaType);
    if (there === undefined) return [`${where} as ${mediaType} is gone`];
    return isObject(media) ? compare(where, media['schema'], there['schema'], direction) : [];
  });

const resolve = (document: Json, schema: unknown): Json => {
  if (!isObject(schema)) return schema === false ? { not: {} } : {};
  const { $ref: reference } = schema;
  if (typeof reference !== 'string') return schema;
  return resolve(document, objectAt(document, ...reference.replace('#/', '').split('/')));
};

const compareSchemas = (before: Json, after: Json): Compare => {
  // A schema may contain itself: during its comparison, a pair counts as equal.
  const known = new Map<string, readonly string[]>();
  const compare: Compare = (where, earlierSchema, nowSchema, direction) => {
    const pair = JSON.stringify([earlierSchema, nowSchema, direction]);
    const found = known.get(pair);
    if (found !== undefined) return found;
    known.set(pair, []);
    const [earlier, now] = [resolve(before, earlierSchema), resolve(after, nowSchema)];
    const problems =
      isUnion(earlier) || isUnion(now)
        ? unionChanges(compare, where, earlier, now, direction)
        : [
            ...valueChanges(where, earlier, now, direction),
            ...boundChanges(where, earlier, now, direction),
            ...memberChanges(compare, where, earlier, now, direction),
          ];
    known.set(pair, problems);
    return problems;
  };
  return compare;
};

const isUnion = (schema: Json): boolean => 'anyOf' in schema || 'oneOf' in schema;
const branchesOf = (schema: Json): readonly Json[] =>
  isUnion(schema) ? listOf(schema['anyOf'] ?? schema['oneOf']) : [schema];

/** Each branch of the narrower side must match one of the wider side. */
const unionChanges = (
  compare: Compare,
  where: string,
  before: Json,
  after: Json,
  direction: Direction,
): readonly string[] => {
  const [earlier, now] = [branchesOf(before), branchesOf(after)];
  const [narrow, wide] = direction === 'sent' ? [earlier, now] : [now, earlier];
  return narrow.flatMap((one) => {
    const tries = wide.map((other) =>
      direction === 'sent' ? compare(where, one, other, direction) : compare(where, other, one, direction),
    );
    if (tries.some((problems) => problems.length === 0)) return [];
    return tries.toSorted((a, b) => a.length - b.length)[0] ?? [`${where} has no form`];
  });
};

/** `undefined`: any. */
const typesOf = ({ type }: Json): readonly unknown[] | undefined =>
  type === undefined ? undefined : [type].flat();
const valuesOf = (schema: Json): readonly unknown[] | undefined =>
  'const' in schema ? [schema['const']] : (schema['enum'] as readonly unknown[] | undefined);

const isWithin = (narrow: readonly unknown[] | undefined, wide: readonly unknown[] | undefined): boolean =>
  wide === undefined ||
  (narrow?.every(
    (one) =>
      wide.some((other) => isDeepStrictEqual(one, other)) || (one === 'integer' && wide.includes('number')),
  ) ??
    false);

const valueChanges = (where: string, before: Json, after: Json, direction: Direction): readonly string[] => {
  const [narrow, wide] = direction === 'sent' ? [before, after] : [after, before];
  const types = isWithin(typesOf(narrow), typesOf(wide))
    ? []
    : [`${where} was ${JSON.stringify(before['type'])} and is ${JSON.stringify(after['type'])}`];
  if (direction === 'received' || isWithin(valuesOf(before), valuesOf(after))) return types;
  return [...types, `${where} takes only ${JSON.stringify(valuesOf(after))} now`];
};

const least = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const most = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

/** Bounds of received values are not compared: a client need not check them. */
const boundChanges = (where: string, before: Json, after: Json, direction: Direction): readonly string[] => {
  if (direction === 'received') return [];
  const tighter = [
    ...least.filter((name) => Number(after[name] ?? -Infinity) > Number(before[name] ?? -Infinity)),
    ...most.filter((name) => Number(after[name] ?? Infinity) < Number(before[name] ?? Infinity)),
    ...['pattern', 'format'].filter((name) => after[name] !== undefined && after[name] !== before[name]),
  ];
  return tighter.map((name) => `${where} has ${name} ${String(after[name])} now`);
};

const memberChanges = (
  compare: Compare,
  where: string,
  before: Json,
  after: Json,
  direction: Direction,
): readonly string[] => {
  const [earlier, now] = [objectAt(before, 'properties') ?? {}, objectAt(after, 'properties') ?? {}];
  const [requiredBefore, requiredNow] = [before, after].map(
    ({ required }) => new Set((required ?? []) as readonly string[]),
  ) as [Set<string>, Set<string>];
  const required =
    direction === 'sent'
      ? [...requiredNow].filter((name) => !requiredBefore.has(name)).map((name) => `${name} is required`)
      : [...requiredBefore].filter((name) => !requiredNow.has(name)).map((name) => `${name} may be absent`);
  return [
    ...required.map((text) => `${where} ${text} now`),
    ...Object.entries(earlier).flatMap(([name, schema]) =>
      name in now ? compare(`${where} ${name}`, schema, now[name], direction) : [`${where} ${name} is gone`],
    ),
    ...('items' in before ? compare(`${where} []`, before['items'], after['items'], direction) : []),
    ...listOf(before['allOf']).flatMap((part, at) =>
      compare(where, part, listOf(after['allOf'])[at], direction),
    ),
  ];
};
