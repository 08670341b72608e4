import { createHash } from 'node:crypto';
import { derivedId } from '../../shared/aggregate/ids.ts';

/**
 * Examples of event data, generated from JSON Schemas. The same schema always gives the same example, and equal
 * member names give matching values.
 */

/** The part of JSON Schema that zod generates. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema | boolean;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly description?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/**
 * Number of an example set. The examples of one set refer to each other. Odd sets have every member; even sets
 * have required members only, and the last form of a union.
 */
export type ExampleSet = number;

const NAMESPACE = '4b0c1a52-6d0e-5f43-9a54-0e2f6f0d7c11';

export const idIn = (set: ExampleSet, name: string): string => derivedId(NAMESPACE, `${name} ${set}`);
export const customerIn = (set: ExampleSet): number => 6 + set;

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

const texts: Readonly<Record<string, string>> = {
  primaryCurrency: 'EUR',
  currency: 'EUR',
  brandDomain: 'brand.example',
  domain: 'brand.example',
  preferredTimezone: 'Europe/Berlin',
  mimeType: 'image/png',
  storageKey: 'assets/example',
  expiresAt: '2026-02-01T00:00:00.000Z',
  startAt: '2026-01-05T00:00:00.000Z',
  endAt: '2026-01-31T00:00:00.000Z',
  maskedKey: 'sk_…abcd',
};

/** Members that contain a hash in hex. */
const HASHES = new Set(['contentHash', 'sha256', 'hashedEmail', 'hashedPhone']);
/** Ids that the buyer or an agent chooses are not UUIDs. */
const OWN_NAMES = new Set(['resourceId', 'orderId', 'userId', 'accountId', 'slotKey', 'clickId']);

const text = (name: string, schema: JsonSchema, set: ExampleSet): string => {
  const known = texts[name];
  if (known !== undefined) return known;
  if (schema.format === 'date-time') return '2026-01-05T00:00:00.000Z';
  if (HASHES.has(name)) return hash(`${name} ${set}`);
  if (/url$/i.test(name) || schema.format === 'uri') return `https://brand.example/${set}/${name}`;
  if (name.endsWith('Id') && !OWN_NAMES.has(name)) return idIn(set, name);
  if (schema.pattern === '^[A-Z]{2}$') return 'DE';
  if (schema.pattern === '^[A-Z]{3}$') return 'EUR';
  return `${name} ${set}`;
};

const number = (name: string, { minimum = -Infinity }: JsonSchema, set: ExampleSet): number => {
  if (name === 'customerId') return customerIn(set);
  if (name === 'advertiserId' || name === 'sellerId') return 100 + set;
  if (name === 'indexes') return 0;
  if (name === 'eventTimes') return Date.parse('2026-01-03T04:05:06.000Z');
  return Math.max(1, minimum);
};

/**
 * @param name of the member that needs the value
 * @param root contains the definitions that references name
 */
export const exampleOf = (schema: JsonSchema, name: string, set: ExampleSet, root = schema): unknown => {
  const isFull = set % 2 === 1;
  if (schema.$ref !== undefined) {
    const target = root.$defs?.[schema.$ref.replace('#/$defs/', '')];
    return target === undefined ? null : exampleOf(target, name, set, root);
  }
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return isFull ? schema.enum[0] : schema.enum.at(-1);
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) {
    const form = isRecursive(forms) || isFull ? forms[0] : forms.at(-1);
    return exampleOf(form ?? {}, name, set, root);
  }
  const type =
    typeof schema.type === 'string' ? schema.type : isFull ? schema.type?.[0] : schema.type?.at(-1);
  switch (type) {
    case 'object':
      return objectOf(schema, set, root);
    case 'array':
      return arrayOf(schema, name, set, root);
    case 'string':
      return text(name, schema, set);
    case 'integer':
    case 'number':
      return number(name, schema, set);
    case 'boolean':
      return isFull;
    case 'null':
    case undefined:
    default:
      return null;
  }
};

/** A union that describes any JSON: its last form is an object that contains the union. */
const isRecursive = (forms: readonly JsonSchema[]): boolean =>
  forms.some(({ items }) => typeof items === 'object' && items.$ref !== undefined);

const objectOf = (schema: JsonSchema, set: ExampleSet, root: JsonSchema): unknown => {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = Object.entries(properties).filter(([name]) => set % 2 === 1 || required.includes(name));
  const others = typeof additionalProperties === 'object' ? { member: additionalProperties } : {};
  return Object.fromEntries(
    [...members, ...Object.entries(others)].map(([name, member]) => [
      name,
      exampleOf(member, name, set, root),
    ]),
  );
};

const arrayOf = ({ items, prefixItems }: JsonSchema, name: string, set: ExampleSet, root: JsonSchema) => {
  if (prefixItems !== undefined) return prefixItems.map((item) => exampleOf(item, name, set, root));
  return typeof items === 'object' ? [exampleOf(items, name, set, root)] : [];
};
