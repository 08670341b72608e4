import { z } from 'zod';
import { ApiError } from './errors.ts';

/** Pieces that routes build their schemas of. Nothing is coerced: text becomes a number only after a pattern. */

const INT32_MAX = 2_147_483_647;

/** Shown in OpenAPI as the integer that it stands for (`openapi.ts`). */
const integerText = (pattern: RegExp, min: number, max: number, description?: string) =>
  z
    .string()
    .regex(pattern, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({
      type: 'integer',
      minimum: min,
      maximum: max,
      ...(description === undefined ? {} : { description }),
    });

/** An integer id in a path: 1 to 2147483647, in its one spelling (decisions.md 1.1, row 20). */
export const pathIntegerId = (what: string) =>
  integerText(/^[1-9]\d{0,9}$/, 1, INT32_MAX, `Id of the ${what}.`);

/** An integer in a query string. */
const queryInteger = (min: number, max: number, description?: string) =>
  integerText(/^(?:0|[1-9]\d{0,15})$/, min, max, description);

/** Exactly `true` or `false` in a query string. */
export const queryBoolean = (description?: string) =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .meta({ type: 'boolean', ...(description === undefined ? {} : { description }) });

/** Text of `min` to `max` code points, nothing trimmed (decisions.md 1.1, row 19). */
export const boundedText = (min: number, max: number) => z.string().min(min).max(max);

const TAKE_DEFAULT = 50;

/** The query parameters of an offset-paged list, with their aliases (decisions.md 1.1, rows 21 and 22). */
export const pagingParameters = (takeMax: number) => ({
  take: queryInteger(1, takeMax, `Items on a page. Default ${TAKE_DEFAULT}.`).optional(),
  skip: queryInteger(0, Number.MAX_SAFE_INTEGER, 'Items before the page. Default 0.').optional(),
  limit: queryInteger(1, takeMax, 'Alias of `take`.').optional(),
  offset: queryInteger(0, Number.MAX_SAFE_INTEGER, 'Alias of `skip`.').optional(),
});

interface PagingQuery {
  readonly take?: number | undefined;
  readonly skip?: number | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

/**
 * The page that a query asks for.
 * @throws ApiError VALIDATION_ERROR when a parameter and its alias disagree
 */
export const pageOf = ({ take, limit, skip, offset }: PagingQuery): { take: number; skip: number } => ({
  take: either('take', take, 'limit', limit) ?? TAKE_DEFAULT,
  skip: either('skip', skip, 'offset', offset) ?? 0,
});

const either = (
  name: string,
  value: number | undefined,
  alias: string,
  same: number | undefined,
): number | undefined => {
  if (value !== undefined && same !== undefined && value !== same) {
    throw new ApiError({
      code: 'VALIDATION_ERROR',
      message: `${alias} is another name of ${name}. Give one of them.`,
      field: alias,
    });
  }
  return value ?? same;
};
