import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { toJsonSchema, type Json } from '../shared/http/json-schema.ts';

const SHOWN = 'x-shown';

/** Parsed by `schema`, and listed as the given JSON Schema: e.g. the text form of a route's parameter. */
export const shownAs = <Schema extends z.ZodType>(schema: Schema, shown: Json): Schema =>
  schema.meta({ [SHOWN]: shown });

/** Without references: models and some clients do not follow them. @throws Error if the schema is recursive */
export const jsonSchemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _, $defs = {}, ...root } = toJsonSchema(schema, io);
  const inlined = (value: unknown, within: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((item) => inlined(item, within));
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, id: _id, [SHOWN]: shown, ...members } = value as Json;
    if (shown !== undefined) return shown;
    leaveOutObvious(members);
    // The next version of the service may show more members than a client has read of here.
    if (io === 'output' && members['additionalProperties'] === false) delete members['additionalProperties'];
    if (typeof $ref !== 'string') {
      return Object.fromEntries(
        Object.entries(members).map(([member, one]) => [
          member,
          member === 'properties' ? propertiesOf(one, within) : inlined(one, within),
        ]),
      );
    }
    const name = $ref.replace('#/$defs/', '');
    if (within.includes(name)) return {};
    return { ...(inlined($defs[name], [...within, name]) as Json), ...members };
  };
  /** Here the members are names of the buyer's data: one may be called `id`. */
  const propertiesOf = (properties: unknown, within: readonly string[]): Json =>
    Object.fromEntries(Object.entries(properties as Json).map(([name, one]) => [name, inlined(one, within)]));
  return inlined(root, []) as Json;
};

/** Each model reads the list: what a name or the format says already is left out. */
const leaveOutObvious = (members: Json): void => {
  if (typeof members['format'] === 'string') delete members['pattern'];
  if (isDeepStrictEqual(members['propertyNames'], { type: 'string' })) delete members['propertyNames'];
  if (members['minimum'] === Number.MIN_SAFE_INTEGER) delete members['minimum'];
  if (members['maximum'] === Number.MAX_SAFE_INTEGER) delete members['maximum'];
};
