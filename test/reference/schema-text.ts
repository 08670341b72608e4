import type { JsonSchema } from '../golden/example-data.ts';

/** Describes schemas as table rows. */

export interface MemberRow {
  /** For example `a.b` or `list[].c`. */
  readonly path: string;
  readonly type: string;
  readonly limits: string;
  readonly isOptional: boolean;
  readonly description: string;
}

const formsOf = ({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] | undefined => anyOf ?? oneOf;

/** The name of a component of the OpenAPI document; undefined for a schema's own definitions. */
export const componentOf = (ref: string): string | undefined =>
  /^#\/components\/schemas\/(\w+)$/.exec(ref)?.[1];

/** The type of a member, without its own members. */
export const typeText = (schema: JsonSchema): string => {
  if (schema.$ref !== undefined) return componentOf(schema.$ref) ?? 'any JSON';
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return 'one of a list';
  const forms = formsOf(schema);
  if (forms !== undefined) {
    return [...new Set(forms.map((form) => typeText(form)))].join(' or ');
  }
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? ['any']);
  return types.map((type) => (type === 'array' ? arrayText(schema) : type)).join(' or ');
};

const arrayText = ({ items, prefixItems }: JsonSchema): string => {
  if (prefixItems !== undefined) return `tuple of (${prefixItems.map((item) => typeText(item)).join(', ')})`;
  return `list of ${typeof items === 'object' ? typeText(items) : 'any'}`;
};

const LONG = 60;

const characters = (count: number): string => `${count} character${count === 1 ? '' : 's'}`;

const limitsText = (schema: JsonSchema): string => {
  const item = typeof schema.items === 'object' ? schema.items : undefined;
  const own = item?.enum === undefined ? schema : item;
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, format } = schema;
  const isSafe = (limit: number | undefined): boolean => Math.abs(limit ?? 0) === Number.MAX_SAFE_INTEGER;
  return [
    ...(own.enum === undefined ? [] : [own.enum.map((value) => `\`${String(value)}\``).join(', ')]),
    ...(minimum === undefined || isSafe(minimum) ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined || isSafe(maximum) ? [] : [`at most ${maximum}`]),
    ...(minLength === undefined ? [] : [`at least ${characters(minLength)}`]),
    ...(maxLength === undefined ? [] : [`at most ${characters(maxLength)}`]),
    ...(schema.prefixItems !== undefined || (minItems ?? maxItems) === undefined
      ? []
      : [`${minItems ?? 0} to ${maxItems ?? 'any number of'} items`]),
    ...(format === undefined ? [] : [format]),
    ...(format !== undefined || pattern === undefined || pattern.length > LONG ? [] : [`\`${pattern}\``]),
  ].join('; ');
};

/** Every member of a schema; nested members follow their parent. */
export const memberRows = (schema: JsonSchema, path = ''): readonly MemberRow[] => {
  const { properties = {}, required = [], items, additionalProperties } = schema;
  const forms = formsOf(schema) ?? [];
  const own = Object.entries(properties).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const { description = '' } = member;
    const row = { path: at, type: typeText(member), limits: limitsText(member), description };
    return [{ ...row, isOptional: !required.includes(name) }, ...memberRows(member, at)];
  });
  return [
    ...own,
    ...(typeof items === 'object' ? memberRows(items, `${path}[]`) : []),
    ...(typeof additionalProperties === 'object' ? memberRows(additionalProperties, `${path}.*`) : []),
    ...forms.flatMap((form) => memberRows(form, path)),
  ].filter(
    ({ path: at, type }, n, all) => all.findIndex((row) => row.path === at && row.type === type) === n,
  );
};
