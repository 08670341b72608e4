import fc from 'fast-check';
import { Reference, isReferenceMember } from './known-ids.ts';
import type { ApiDocument, Schema } from './read-operations.ts';

/** Values by member name, for members whose schema does not describe their whole rule. */
export type GivenMembers = Readonly<Record<string, readonly unknown[]>>;

export interface ValueContext {
  readonly resolve: ApiDocument['resolve'];
  readonly members: GivenMembers;
  /** Bodies for operations that accept bytes. */
  readonly bytes: readonly Uint8Array[];
  /** Includes only required and given members: such requests mostly succeed. */
  readonly isPlain?: boolean;
}

const DEPTH_MAX = 6;
const MORE_ITEMS = 3;
const MORE_CHARACTERS = 24;

/** Values that a schema allows. The length of text counts code points, as in JSON Schema. */
export const validValue = (schema: Schema, context: ValueContext, depth = 0): fc.Arbitrary<unknown> => {
  const resolved = context.resolve(schema);
  if (resolved.const !== undefined) return fc.constant(resolved.const);
  if (resolved.enum !== undefined) return fc.constantFrom(...resolved.enum);
  const choices = resolved.anyOf ?? resolved.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => validValue(choice, context, depth)));
  if (resolved.allOf !== undefined) {
    const parts = resolved.allOf.map((part) => validValue(part, context, depth));
    return fc.tuple(...parts).map((values) => Object.assign({}, ...values) as unknown);
  }
  if (Array.isArray(resolved.type)) {
    return fc.oneof(
      ...resolved.type.map((type: string) => validValue({ ...resolved, type }, context, depth)),
    );
  }
  return ofType(resolved, context, depth);
};

const ofType = (schema: Schema, context: ValueContext, depth: number): fc.Arbitrary<unknown> => {
  switch (schema.type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return validInteger(schema);
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true });
    case 'string':
      return validText(schema);
    case 'array':
      return validArray(schema, context, depth);
    case 'object':
      return validObject(schema, context, depth);
    case undefined:
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
};

const validInteger = ({
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
}: Schema): fc.Arbitrary<number> => {
  const min = minimum ?? (exclusiveMinimum === undefined ? Number.MIN_SAFE_INTEGER : exclusiveMinimum + 1);
  const max = maximum ?? (exclusiveMaximum === undefined ? Number.MAX_SAFE_INTEGER : exclusiveMaximum - 1);
  return fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min, max: Math.min(max, min + 1_000) }) },
    { weight: 1, arbitrary: fc.maxSafeInteger().map((value) => Math.min(max, Math.max(min, value))) },
    { weight: 1, arbitrary: fc.constantFrom(min, max) },
  );
};

/**
 * One code point each, and each known to cause trouble: quotes, wildcards, control characters, right-to-left, four
 * bytes.
 */
const oddCharacters = [
  '"',
  '\\',
  "'",
  '%',
  '_',
  '\n',
  '\t',
  '\u007f',
  'é',
  'ß',
  '漢',
  '\u202e',
  '\ufffe',
  '😀',
];

export const validText = ({
  minLength = 0,
  maxLength = 100,
  pattern,
  format,
}: Schema): fc.Arbitrary<string> => {
  switch (format) {
    case 'date-time':
      return fc
        .date({ min: new Date('2020-01-01'), max: new Date('2039-12-31'), noInvalidDate: true })
        .map((date) => date.toISOString());
    case 'uri':
    case 'url':
      return fc.webUrl();
    case 'email':
      return fc.emailAddress();
    case 'uuid':
      return fc.uuid();
    case undefined:
    default:
  }
  const fits = (text: string): boolean => {
    const { length } = Array.from(text);
    return length >= minLength && length <= maxLength;
  };
  const size = { minLength, maxLength: Math.min(maxLength, minLength + MORE_CHARACTERS) };
  const any = fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'grapheme-ascii', ...size }) },
    { weight: 2, arbitrary: fc.string({ unit: fc.constantFrom(...oddCharacters), ...size }) },
    { weight: 1, arbitrary: fc.constantFrom(minLength, maxLength).map((length) => 'a'.repeat(length)) },
  );
  return pattern === undefined ? any : textMatching(pattern, fits, any);
};

/** Samples that show whether texts for a pattern are generated often enough. */
const TRIES = 200;

/**
 * Texts that match a pattern. Look-ahead and look-behind cannot be generated: they are left out, and texts that do not
 * match the whole pattern are discarded.
 * @param otherwise used if no text is found; then `given.ts` must name the values
 */
const textMatching = (
  pattern: string,
  fits: (text: string) => boolean,
  otherwise: fc.Arbitrary<string>,
): fc.Arbitrary<string> => {
  const whole = new RegExp(pattern);
  const isRight = (text: string): boolean => fits(text) && whole.test(text);
  for (const source of [pattern, withoutAssertions(pattern)]) {
    try {
      const texts = fc.stringMatching(new RegExp(source));
      if (fc.sample(texts, { numRuns: TRIES, seed: 1 }).some(isRight)) return texts.filter(isRight);
    } catch {
      // Try the next form.
    }
  }
  return otherwise;
};

const withoutAssertions = (pattern: string): string => {
  const start = pattern.search(/\(\?(?:=|!|<=|<!)/);
  if (start < 0) return pattern;
  let depth = 0;
  let end = start;
  for (; end < pattern.length; end++) {
    if (pattern[end] === '\\') end += 1;
    else if (pattern[end] === '(') depth += 1;
    else if (pattern[end] === ')' && --depth === 0) break;
  }
  return withoutAssertions(pattern.slice(0, start) + pattern.slice(end + 1));
};

const validArray = (
  { items = {}, minItems = 0, maxItems = Infinity, uniqueItems }: Schema,
  context: ValueContext,
  depth: number,
): fc.Arbitrary<unknown[]> => {
  // A schema can contain itself.
  if (depth >= DEPTH_MAX && minItems === 0) return fc.constant([]);
  const size = { minLength: minItems, maxLength: Math.min(maxItems, minItems + MORE_ITEMS) };
  const item = validValue(items, context, depth + 1);
  if (context.isPlain === true && maxItems > 0) {
    const length = Math.max(1, minItems);
    return fc.array(item, { minLength: length, maxLength: length });
  }
  return uniqueItems === true
    ? fc.uniqueArray(item, { ...size, selector: (value) => JSON.stringify(value) })
    : fc.array(item, size);
};

const validObject = (schema: Schema, context: ValueContext, depth: number): fc.Arbitrary<unknown> => {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const members = Object.entries(properties).filter(([name]) => depth < DEPTH_MAX || required.includes(name));
  const model = Object.fromEntries(
    members.map(([name, member]) => [name, validMember(name, member, context, depth + 1)]),
  );
  if (context.isPlain === true) {
    const given = members.flatMap(([name]) => (context.members[name] === undefined ? [] : [name]));
    return fc.record(pick(model, [...required, ...given]));
  }
  const sparse = Object.fromEntries(
    Object.entries(model).map(([name, value]) => [name, required.includes(name) ? value : sometimes(value)]),
  );
  const declared = fc.oneof(
    { weight: 1, arbitrary: fc.record(pick(model, required)) },
    { weight: 3, arbitrary: fc.record(sparse) },
    { weight: 1, arbitrary: fc.record(model, { requiredKeys: [...required] }) },
  );
  if (additionalProperties === undefined || typeof additionalProperties === 'boolean' || depth >= DEPTH_MAX) {
    return declared;
  }
  const names = validText(context.resolve(propertyNames ?? { minLength: 1, maxLength: 20 }));
  const free = fc.dictionary(names, validValue(additionalProperties, context, depth + 1), { maxKeys: 3 });
  return fc.tuple(free, declared).map(([more, own]) => ({ ...more, ...(own as object) }));
};

/** Includes a member in one of five values: with more members, contradictions are more likely. */
const sometimes = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const pick = <Value>(
  model: Readonly<Record<string, Value>>,
  names: readonly string[],
): Record<string, Value> =>
  Object.fromEntries(Object.entries(model).filter(([name]) => names.includes(name)));

/** A member that refers to another resource mostly names an existing one. */
export const validMember = (
  name: string,
  schema: Schema,
  context: ValueContext,
  depth: number,
): fc.Arbitrary<unknown> => {
  const given = context.members[name];
  if (given !== undefined) return fc.constantFrom(...given);
  const value = validValue(schema, context, depth);
  const resolved = context.resolve(schema);
  if (resolved.type === 'array' && name.endsWith('Ids')) {
    const item = context.resolve(resolved.items ?? {});
    if (context.isPlain === true) return fc.tuple(reference(name.slice(0, -1), item, context, depth));
    return fc.oneof(
      fc.array(reference(name.slice(0, -1), item, context, depth), { minLength: 1, maxLength: 2 }),
      value,
    );
  }
  if (!isReferenceMember(name, resolved)) return value;
  if (context.isPlain === true) return reference(name, resolved, context, depth);
  return fc.oneof(
    { weight: 4, arbitrary: reference(name, resolved, context, depth) },
    { weight: 1, arbitrary: value },
  );
};

const reference = (
  name: string,
  schema: Schema,
  context: ValueContext,
  depth: number,
): fc.Arbitrary<Reference> =>
  fc
    .tuple(fc.nat(5), fc.nat(15), validValue(schema, context, depth))
    .map(
      ([index, odds, otherwise]) =>
        new Reference(name, index, odds === 15, otherwise, schema.type === 'integer'),
    );
