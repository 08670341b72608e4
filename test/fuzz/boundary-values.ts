import fc from 'fast-check';
import { edgeNumbers, edgeTimes } from './edge-values.ts';
import { RawJson } from './json-text.ts';
import type { ApiDocument, Schema } from './read-operations.ts';
import { validText } from './valid-value.ts';

type Key = string | number;
type Resolve = ApiDocument['resolve'];

/** A value at a limit of a member's schema or just beyond it, and the path of the member. */
export interface Boundary {
  readonly path: readonly Key[];
  readonly value: unknown;
}

const DEPTH_MAX = 6;
/** A longer text is refused for the size of the body. */
const LENGTH_MAX = 200_000;

/** Values at and one beyond each limit of a schema. Each member once left out. Each type once wrong. */
export const boundariesOf = (schema: Schema, resolve: Resolve): readonly Boundary[] =>
  everywhere(schema, resolve, [], (one) => [
    ...lengths(one),
    ...amounts(one),
    ...counts(one, resolve),
    ...wrongTypes(one),
    undefined,
  ]);

/** For each member, values that a careless store cannot save or a careless program cannot walk through. */
export const unstorablesOf = (schema: Schema, resolve: Resolve): readonly Boundary[] =>
  everywhere(schema, resolve, [], unstorable);

/** For each number or time, values at the limits of the types in which programs and stores keep it. */
export const edgesOf = (schema: Schema, resolve: Resolve): readonly Boundary[] =>
  everywhere(schema, resolve, [], edges);

const everywhere = (
  schema: Schema,
  resolve: Resolve,
  path: readonly Key[],
  valuesFor: (schema: Schema) => readonly unknown[],
): readonly Boundary[] => {
  const resolved = resolve(schema);
  if (path.length > DEPTH_MAX) return [];
  const inside = (member: Schema, key: Key): readonly Boundary[] =>
    everywhere(member, resolve, [...path, key], valuesFor);
  const choices = resolved.anyOf ?? resolved.oneOf;
  if (choices !== undefined) {
    return choices.flatMap((choice) => everywhere(choice, resolve, path, valuesFor));
  }
  const { properties = {}, items, additionalProperties } = resolved;
  return [
    ...valuesFor(resolved).map((value) => ({ path, value })),
    ...Object.entries(properties).flatMap(([name, member]) => inside(member, name)),
    ...(items === undefined ? [] : inside(items, 0)),
    ...(typeof additionalProperties === 'object' ? inside(additionalProperties, 'x') : []),
  ];
};

const lengths = ({ type, minLength, maxLength, enum: values }: Schema): readonly unknown[] => {
  if (type !== 'string' || values !== undefined) return [];
  const sizes = [minLength ?? 0, (minLength ?? 0) - 1, maxLength ?? 10_000, (maxLength ?? 10_000) + 1];
  const fitting = sizes.filter((size) => size >= 0 && size <= LENGTH_MAX);
  return fitting.flatMap((size) => ['a'.repeat(size), '😀'.repeat(size)]);
};

const amounts = ({ type, minimum, maximum }: Schema): readonly unknown[] => {
  if (type !== 'integer' && type !== 'number') return [];
  const low = BigInt(Math.ceil(minimum ?? -(2 ** 31)));
  const high = BigInt(Math.floor(maximum ?? 2 ** 31 - 1));
  const texts = [low, low - 1n, high, high + 1n].map(String);
  return [...texts, `${low}.5`, `${high}.0`, '-0', '1e309'].map((text) => new RawJson(text));
};

const counts = ({ type, items, minItems = 0, maxItems }: Schema, resolve: Resolve): readonly unknown[] => {
  if (type !== 'array') return [];
  const most = maxItems === undefined || maxItems > 1_000 ? [] : [maxItems, maxItems + 1];
  const item = leastValue(items ?? {}, resolve);
  return [minItems, minItems - 1, ...most]
    .filter((count) => count >= 0)
    .map((count) => Array.from({ length: count }, () => item));
};

const wrongTypes = ({ type }: Schema): readonly unknown[] =>
  [null, true, 0, '', '0', [], {}].filter((value) => typeof value !== type);

const edges = ({ type, format }: Schema): readonly unknown[] => {
  if (type === 'integer' || type === 'number') return edgeNumbers.map((text) => new RawJson(text));
  return type === 'string' && (format === 'date-time' || format === 'date') ? edgeTimes : [];
};

const unstorable = ({ type }: Schema): readonly unknown[] => {
  if (type === 'string') return ['a\0b', 'a\ud800'];
  if (type !== 'object' && type !== undefined) return [];
  return [
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`,
    `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`,
  ].map((text) => new RawJson(text));
};

/** The simplest value that a schema allows. It fills the enclosing members of a boundary. */
const leastValue = (schema: Schema, resolve: Resolve): unknown => {
  const resolved = resolve(schema);
  const { type, properties = {}, required = [], minItems = 0, items = {}, minimum = 0 } = resolved;
  const [choice] = resolved.anyOf ?? resolved.oneOf ?? [];
  if (choice !== undefined) return leastValue(choice, resolve);
  if (resolved.const !== undefined || resolved.enum !== undefined)
    return resolved.const ?? resolved.enum?.[0];
  if (type === 'object') {
    return Object.fromEntries(required.map((name) => [name, leastValue(properties[name] ?? {}, resolve)]));
  }
  if (type === 'array') return Array.from({ length: minItems }, () => leastValue(items, resolve));
  if (type === 'string') return fc.sample(validText(resolved), { numRuns: 1, seed: 1 })[0];
  if (type === 'boolean') return false;
  return type === 'integer' || type === 'number' ? Math.max(minimum, 0) : null;
};

/** A body that contains a boundary. Missing enclosing members are added in their simplest form. */
export const withBoundary = (
  body: unknown,
  schema: Schema,
  { path, value }: Boundary,
  resolve: Resolve,
): unknown => {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const resolved = resolve(schema);
  const chosen = resolved.anyOf?.[0] ?? resolved.oneOf?.[0] ?? resolved;
  const { properties = {}, items, additionalProperties } = resolve(chosen);
  const inside =
    typeof key === 'number'
      ? (items ?? {})
      : (properties[key] ?? (typeof additionalProperties === 'object' ? additionalProperties : {}));
  const here = typeof body === 'object' && body !== null ? body : leastValue(chosen, resolve);
  const before = (here as Readonly<Record<Key, unknown>> | null)?.[key];
  const member = withBoundary(
    before ?? (rest.length > 0 ? leastValue(inside, resolve) : undefined),
    inside,
    { path: rest, value },
    resolve,
  );
  if (typeof key === 'number') return [member, ...(Array.isArray(here) ? here.slice(1) : [])];
  return { ...(here as object), [key]: member };
};
