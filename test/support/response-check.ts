import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { errorCodes, type ErrorCode } from '../../shared/http/errors.ts';
import { errorsOfRoute } from '../../shared/http/errors-of-route.ts';
import type { Route } from '../../shared/http/route.ts';

export interface ResponseCheck {
  /** An option of `createApp` or `startService`. */
  readonly onAnswer: (route: Route, status: number, text: string) => void;
  /** Answers so far that differ from their declarations. Must be empty at the end of every test. */
  readonly problems: string[];
}

const ErrorEnvelope = z.strictObject({
  data: z.null(),
  error: z.strictObject({
    code: z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]),
    message: z.string().min(1),
    field: z.string().min(1).optional(),
    details: z.unknown().optional(),
  }),
});

const Pagination = z
  .strictObject({ skip: z.int().min(0), take: z.int().min(1), total: z.int().min(0), hasMore: z.boolean() })
  .refine(({ skip, take, total, hasMore }) => hasMore === skip + take < total, 'hasMore is wrong');

/** Checks answers strictly against the routes' declarations: an undeclared member is a problem. */
export const createResponseCheck = (): ResponseCheck => {
  const problems: string[] = [];
  return {
    problems,
    onAnswer: (route, status, text) => {
      const problem = problemOf(route, status, text);
      if (problem !== undefined) problems.push(`${route.operationId} ${status}: ${problem} in ${text}`);
    },
  };
};

const problemOf = (route: Route, status: number, text: string): string | undefined => {
  if (status >= 400 && route.responses[status] === undefined) return problemOfRefusal(route, status, text);
  const declared = route.responses[status];
  if (declared === undefined) return 'this status is not declared';
  if (declared.data === undefined)
    return text === '' || declared.mediaType !== undefined ? undefined : 'a body';
  if (declared.otherMediaType === 'text/html' && text.startsWith('<!doctype html>')) return undefined;
  const value = JSON.parse(text) as unknown;
  if (declared.enveloped === false) return misfit(declared.data, value);
  const envelope = z.strictObject({
    data: declared.data,
    error: z.null(),
    ...(declared.paginated === true ? { meta: z.strictObject({ pagination: Pagination }) } : {}),
  });
  return misfit(envelope, value);
};

const problemOfRefusal = (route: Route, status: number, text: string): string | undefined => {
  const value = JSON.parse(text) as unknown;
  const problem = misfit(ErrorEnvelope, value);
  if (problem !== undefined) return problem;
  const { code } = ErrorEnvelope.parse(value).error;
  if (errorCodes[code].status !== status) return `${code} has another status`;
  return errorsOfRoute(route).includes(code) ? undefined : `${code} is not declared (alsoRefuses)`;
};

/** Parsing drops undeclared members, so an equal result means that there are none. */
const misfit = (schema: z.ZodType, value: unknown): string | undefined => {
  const parsed = schema.safeParse(value);
  if (!parsed.success) return z.prettifyError(parsed.error);
  return isDeepStrictEqual(parsed.data, value) ? undefined : 'members that are not declared';
};
