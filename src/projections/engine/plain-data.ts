import { z } from 'zod';

type Check = (value: unknown) => boolean;

/** Values of one schema that are remembered to have passed: codes and names of kinds come again and again. */
const REMEMBERED_MAX = 1_000;
/** Longer ones hardly come again, and would be held for nothing. */
const REMEMBERED_CHARS_MAX = 64;
const UNKNOWN: Check = () => false;

/**
 * Whether a schema takes data as they are: it would succeed, and what it gives would equal what it got. False may mean
 * either; then it is for the schema to say. Nothing is made anew of what passes, where the schema makes a copy of all of
 * it: of events that become rows that was a tenth of the processor time.
 *
 * Only kinds of schemas are known here whose meaning is plain; all others are left to the schema, and with them what
 * they are part of.
 */
export const plainCheckOf = (schema: z.core.$ZodType): Check => {
  if (schema instanceof z.ZodObject) return ofObject(schema);
  if (schema instanceof z.ZodOptional && isMerelyOptional(schema)) {
    const check = plainCheckOf(schema.def.innerType);
    return (value) => value === undefined || check(value);
  }
  if (schema instanceof z.ZodNullable && !hasMore(schema)) {
    const check = plainCheckOf(schema.def.innerType);
    return (value) => value === null || check(value);
  }
  if (hasMore(schema)) return isLeaf(schema) ? ofLeaf(schema) : UNKNOWN;
  if (schema instanceof z.ZodArray) {
    const check = plainCheckOf(schema.def.element);
    return (value) => Array.isArray(value) && value.every(check);
  }
  if (schema instanceof z.ZodRecord) return ofRecord(schema);
  if (schema instanceof z.ZodString) return (value) => typeof value === 'string';
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === 'boolean';
  return isLeaf(schema) ? ofLeaf(schema) : UNKNOWN;
};

/** What is absent stays absent: something inside it could say what to put there, and a condition could refuse that. */
const isMerelyOptional = (schema: z.ZodOptional): boolean =>
  schema.def.innerType._zod.optin === undefined && !hasMore(schema);

/** Conditions besides what the kind says; some of them change what they look at. */
const hasMore = ({ _zod: { def } }: z.core.$ZodType): boolean =>
  (def.checks?.length ?? 0) > 0 || 'check' in def || 'coerce' in def;

type Leaf = z.ZodString | z.ZodStringFormat | z.ZodNumber | z.ZodEnum | z.ZodLiteral;

/** Of values that have no parts: what comes out can be held against what went in. */
const isLeaf = (schema: z.core.$ZodType): schema is Leaf =>
  schema instanceof z.ZodString ||
  schema instanceof z.ZodStringFormat ||
  schema instanceof z.ZodNumber ||
  schema instanceof z.ZodEnum ||
  schema instanceof z.ZodLiteral;

const ofLeaf = (schema: Leaf): Check => {
  const remembered = new Set<unknown>();
  return (value) => {
    if (remembered.has(value)) return true;
    const { success, data } = schema.safeParse(value);
    if (!success || !Object.is(data, value)) return false;
    const isShort = typeof value !== 'string' || value.length <= REMEMBERED_CHARS_MAX;
    if (isShort && remembered.size < REMEMBERED_MAX) remembered.add(value);
    return true;
  };
};

/** Members that the schema does not know are left out by it, refused, or taken: no data with such are plain. */
const ofObject = (schema: z.ZodObject): Check => {
  const shape: readonly (readonly [string, z.core.$ZodType])[] = Object.entries(schema.shape);
  const isKnown = ([, member]: readonly [string, z.core.$ZodType]): boolean =>
    member._zod.optin === undefined || (member instanceof z.ZodOptional && isMerelyOptional(member));
  if (hasMore(schema) || !shape.every(isKnown)) return UNKNOWN;
  const members = new Map(
    shape.map(([name, member]) => [
      name,
      { check: plainCheckOf(member), isRequired: member._zod.optin === undefined },
    ]),
  );
  const required = [...members.values()].filter(({ isRequired }) => isRequired).length;
  return (value) => {
    if (!isObject(value)) return false;
    let found = 0;
    for (const name in value) {
      const member = members.get(name);
      if (member?.check(value[name]) !== true) return false;
      if (member.isRequired) found += 1;
    }
    return found === required;
  };
};

const ofRecord = ({ def: { keyType, valueType } }: z.ZodRecord): Check => {
  if (!(keyType instanceof z.ZodString) || hasMore(keyType)) return UNKNOWN;
  const check = plainCheckOf(valueType);
  return (value) => {
    if (!isObject(value)) return false;
    for (const name in value) if (name === '__proto__' || !check(value[name])) return false;
    return true;
  };
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
