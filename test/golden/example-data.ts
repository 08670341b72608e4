import { createHash } from 'node:crypto';
import { derivedId } from '../../shared/aggregate/ids.ts';

/** Examples of events' data, made of their JSON Schemas: always the same, and fitting one another by their members' names. */

/** The part of JSON Schema that zod's own translation uses. */
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
 * Which example: things of one world belong together. In those of odd number every member is there, in those of even
 * number only what must be, and of several forms the last.
 */
export type World = number;

const NAMESPACE = '4b0c1a52-6d0e-5f43-9a54-0e2f6f0d7c11';

export const idIn = (world: World, name: string): string => derivedId(NAMESPACE, `${name} ${world}`);
export const customerIn = (world: World): number => 6 + world;

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

/** Those that are hashes of something, in hex. */
const HASHES = new Set(['contentHash', 'sha256', 'hashedEmail', 'hashedPhone']);
/** What the buyer or an agent names itself is no UUID. */
const OWN_NAMES = new Set(['resourceId', 'orderId', 'userId', 'accountId', 'slotKey', 'clickId']);

const text = (name: string, schema: JsonSchema, world: World): string => {
  const known = texts[name];
  if (known !== undefined) return known;
  if (schema.format === 'date-time') return '2026-01-05T00:00:00.000Z';
  if (HASHES.has(name)) return hash(`${name} ${world}`);
  if (/url$/i.test(name) || schema.format === 'uri') return `https://brand.example/${world}/${name}`;
  if (name.endsWith('Id') && !OWN_NAMES.has(name)) return idIn(world, name);
  if (schema.pattern === '^[A-Z]{2}$') return 'DE';
  if (schema.pattern === '^[A-Z]{3}$') return 'EUR';
  return `${name} ${world}`;
};

const number = (name: string, { minimum = -Infinity }: JsonSchema, world: World): number => {
  if (name === 'customerId') return customerIn(world);
  if (name === 'advertiserId' || name === 'sellerId') return 100 + world;
  if (name === 'indexes') return 0;
  if (name === 'eventTimes') return Date.parse('2026-01-03T04:05:06.000Z');
  return Math.max(1, minimum);
};

/**
 * @param name of the member that it is for
 * @param root holds the definitions that references name
 */
export const exampleOf = (schema: JsonSchema, name: string, world: World, root = schema): unknown => {
  const isFull = world % 2 === 1;
  if (schema.$ref !== undefined) {
    const target = root.$defs?.[schema.$ref.replace('#/$defs/', '')];
    return target === undefined ? null : exampleOf(target, name, world, root);
  }
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return isFull ? schema.enum[0] : schema.enum.at(-1);
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) {
    const form = isRecursive(forms) || isFull ? forms[0] : forms.at(-1);
    return exampleOf(form ?? {}, name, world, root);
  }
  const type =
    typeof schema.type === 'string' ? schema.type : isFull ? schema.type?.[0] : schema.type?.at(-1);
  switch (type) {
    case 'object':
      return objectOf(schema, world, root);
    case 'array':
      return arrayOf(schema, name, world, root);
    case 'string':
      return text(name, schema, world);
    case 'integer':
    case 'number':
      return number(name, schema, world);
    case 'boolean':
      return isFull;
    case 'null':
    case undefined:
    default:
      return null;
  }
};

/** Any JSON: its last form is an object of itself. */
const isRecursive = (forms: readonly JsonSchema[]): boolean =>
  forms.some(({ items }) => typeof items === 'object' && items.$ref !== undefined);

const objectOf = (schema: JsonSchema, world: World, root: JsonSchema): unknown => {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = Object.entries(properties).filter(([name]) => world % 2 === 1 || required.includes(name));
  const others = typeof additionalProperties === 'object' ? { member: additionalProperties } : {};
  return Object.fromEntries(
    [...members, ...Object.entries(others)].map(([name, member]) => [
      name,
      exampleOf(member, name, world, root),
    ]),
  );
};

const arrayOf = ({ items, prefixItems }: JsonSchema, name: string, world: World, root: JsonSchema) => {
  if (prefixItems !== undefined) return prefixItems.map((item) => exampleOf(item, name, world, root));
  return typeof items === 'object' ? [exampleOf(items, name, world, root)] : [];
};
