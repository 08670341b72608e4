import { z } from 'zod';

export type Json = Record<string, unknown>;

/** Schemas with an `id` are in `$defs`. Parameters that a text is read into are shown as what they become. */
export const toJsonSchema = (
  schema: z.ZodType,
  io: 'input' | 'output',
): Json & { $defs?: Record<string, Json> } =>
  z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema: json }) => {
      // These bounds only say that JavaScript represents an integer exactly.
      if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
      if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
      if (json.type === 'integer' || json.type === 'boolean') {
        delete json.pattern;
        delete json.enum;
      }
    },
  }) as Json & { $defs?: Record<string, Json> };
