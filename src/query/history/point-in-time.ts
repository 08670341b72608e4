import { z } from 'zod';
import { isoTimestamp } from '../../shared/clock.ts';
import { instant } from '../../shared/http/schemas.ts';
import type { Until } from './fold.ts';

/** A revision, or an instant in ISO 8601, UTC, milliseconds. */
export type PointInTime = Exclude<Until, { readonly revision: 'last' }>;

const REVISION = /^(?:0|[1-9]\d{0,8})$/;

const pointOf = (text: string): PointInTime | undefined => {
  if (REVISION.test(text)) return { revision: Number(text) };
  const parsed = instant().safeParse(text);
  return parsed.success ? { instant: isoTimestamp(parsed.data) } : undefined;
};

/** A point in the history of a thing, in a query string: the number of one of its revisions, or a moment. */
export const pointInTime = (description: string) =>
  z
    .string()
    .refine((text) => pointOf(text) !== undefined, {
      error: 'must be the number of a revision, or a time of RFC 3339 from 1970 to 9999',
    })
    .transform((text): PointInTime => pointOf(text) ?? { revision: 0 })
    .meta({ type: 'string', description });
