import { z } from 'zod';
import { urlProblem, type OutboundPolicy } from '../outbound/outbound-url.ts';
import { ApiError } from './errors.ts';

const INT32_MAX = 2_147_483_647;

const integerText = (pattern: RegExp, min: number, max: number, description?: string) =>
  z
    .string()
    .regex(pattern, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    // Not `z.int()`: above 2^53-1 it would report a second issue.
    .pipe(z.number().min(min).max(max))
    .meta({
      type: 'integer',
      minimum: min,
      maximum: max,
      ...(description === undefined ? {} : { description }),
    });

export const pathIntegerId = (what: string) =>
  integerText(/^[1-9]\d{0,9}$/, 1, INT32_MAX, `Id of the ${what}.`);

/** A number above every id gives 404, not 400: it becomes 0, which is never an id. */
export const digitStringId = (what: string) =>
  z
    .string()
    .regex(/^\d{1,400}$/, 'must be digits only')
    .transform((text) => {
      const id = Number(text);
      return id <= INT32_MAX && String(id) === text ? id : 0;
    })
    .meta({ type: 'string', pattern: '^\\d+$', description: `Id of the ${what}: digits only.` });

export const pathTextId = (what: string) =>
  z
    .string()
    .min(1)
    .meta({ description: `Id of the ${what}.` });

const queryInteger = (min: number, max: number, description?: string) =>
  integerText(/^(?:0|[1-9]\d{0,15})$/, min, max, description);

export const queryOffset = (what: string) =>
  queryInteger(0, Number.MAX_SAFE_INTEGER, `${what} before the page. Default 0.`).optional();

export const queryBoolean = (description?: string) =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .meta({ type: 'boolean', ...(description === undefined ? {} : { description }) });

/** The host's addresses are checked when the connection is made. */
export const outboundAddress = (policy: OutboundPolicy) =>
  z
    .string()
    .min(1)
    .max(2_048)
    .check(({ value: input, issues }) => {
      const message = urlProblem(input, policy);
      if (message !== undefined) issues.push({ code: 'custom', input, message, continue: true });
    });

const TAKE_DEFAULT = 50;

export const takeParameter = (takeMax: number) =>
  queryInteger(1, takeMax, `Items on a page. Default ${TAKE_DEFAULT}.`)
    .optional()
    .transform((take) => take ?? TAKE_DEFAULT);

export const pagingParameters = (takeMax: number) => ({
  take: queryInteger(1, takeMax, `Items on a page. Default ${TAKE_DEFAULT}.`).optional(),
  skip: queryInteger(0, Number.MAX_SAFE_INTEGER, 'Items before the page. Default 0.').optional(),
  limit: queryInteger(1, takeMax, 'Alias of `take`.').optional(),
  offset: queryInteger(0, Number.MAX_SAFE_INTEGER, 'Alias of `skip`.').optional(),
});

const CURSOR_LENGTH_MAX = 1_000;

export const cursorParameters = (limitMax: number) => ({
  limit: queryInteger(1, limitMax, `Items on a page. Default ${TAKE_DEFAULT}.`).optional(),
  cursor: z
    .string()
    .min(1)
    .max(CURSOR_LENGTH_MAX)
    .optional()
    .meta({ description: '`nextCursor` of the page before. Default: the first page.' }),
});

export const cursorLimitOf = ({ limit }: { readonly limit?: number | undefined }): number =>
  limit ?? TAKE_DEFAULT;

export interface PagingQuery {
  readonly take?: number | undefined;
  readonly skip?: number | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

/** @throws ApiError VALIDATION_ERROR if a parameter and its alias differ */
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
