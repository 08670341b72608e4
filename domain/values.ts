import { z } from 'zod';
import { readRfc3339 } from './rfc3339.ts';

/** ISO 8601 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime({ precision: 3 });

/** `min` to `max` code points, not trimmed. */
export const boundedText = (min: number, max: number) => z.string().min(min).max(max);

export const distinct = <Item>(items: readonly Item[]): Item[] => [
  ...new Map(items.map((item) => [JSON.stringify(item), item])).values(),
];

export const listOf = <Item extends z.ZodType>(item: Item, lengthMax: number) =>
  z.array(item).max(lengthMax).overwrite(distinct);

export const fitsJson = (charactersMax: number) =>
  [
    (value: unknown): boolean => JSON.stringify(value).length <= charactersMax,
    `must have at most ${charactersMax} characters as JSON`,
  ] as const;

/** @param read returns the value, or the problem, e.g. `must be a day` @param shown the OpenAPI schema */
export const readText = <Value extends number | object>(
  read: (text: string) => Value | string,
  shown: { readonly format?: string; readonly description?: string } = {},
) =>
  z
    .string()
    .transform((text, context): Value => {
      const value = read(text);
      if (typeof value !== 'string') return value;
      context.issues.push({ code: 'custom', message: value, input: text });
      return z.NEVER;
    })
    .meta({ type: 'string', ...shown });

export const foreignCredential = (text = z.string()) =>
  text
    .regex(/^[\u0021-\u007e]{1,4096}$/, 'must be 1 to 4096 visible ASCII characters without spaces')
    .meta({ writeOnly: true });

/** The URL parser alone also accepts `https:example.com`. */
export const isHttpUrl = (text: string): boolean => /^https?:\/\/[^/\\]/i.test(text) && URL.canParse(text);

/** Milliseconds since the epoch (`rfc3339.ts`). */
export const instant = () => readText(readRfc3339, { format: 'date-time' });
