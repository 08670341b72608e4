import { z } from 'zod';
import { ApiError } from '../shared/http/errors.ts';
import type { Route } from '../shared/http/route.ts';
import { parameterNames } from '../shared/http/openapi.ts';

/** The routes of the API, from which tools take their schemas. */
export interface Operations {
  /** @throws Error if there is no such route */
  readonly of: (operationId: string) => Route;
}

export const operationsOf = (routes: readonly Route[]): Operations => {
  const byId = new Map(routes.map((route) => [route.operationId, route]));
  return {
    of: (operationId) => {
      const route = byId.get(operationId);
      if (route === undefined) throw new Error(`a tool needs the route ${operationId}`);
      return route;
    },
  };
};

export const bodyShapeOf = ({ body, operationId }: Route): Readonly<Record<string, z.ZodType>> => {
  if (body === undefined) return {};
  if (!(body instanceof z.ZodObject)) throw new Error(`the body of ${operationId} has no members`);
  return body.shape;
};

export const queryShapeOf = ({ query }: Route): Readonly<Record<string, z.ZodType>> =>
  query instanceof z.ZodObject ? query.shape : {};

export const takesAsOf = ({ query }: Route): boolean => parameterNames(query).includes('asOf');

/** Of the first success status that has any. */
export const dataOf = ({ responses }: Route): z.ZodType | undefined =>
  Object.values(responses).find(({ data }) => data !== undefined)?.data;

/** @param member of an object @throws Error if the schema has no such member */
export const memberOf = (schema: z.ZodType | undefined, member: string): z.ZodType => {
  const found =
    schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>)[member] : undefined;
  if (found === undefined) throw new Error(`an answer has no member ${member}`);
  return found;
};

export const membersOf = (schema: z.ZodType | undefined): readonly string[] =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];

/** An agent knows the name of its argument, not of the parameter that it became. */
export const namingArguments = async <Result>(
  argumentOf: Readonly<Record<string, string>>,
  call: Promise<Result>,
): Promise<Result> => {
  try {
    return await call;
  } catch (error) {
    const field = error instanceof ApiError ? error.body.field : undefined;
    const argument = field !== undefined && Object.hasOwn(argumentOf, field) ? argumentOf[field] : undefined;
    if (!(error instanceof ApiError) || argument === undefined) throw error;
    throw new ApiError({ ...error.body, field: argument }, error.headers, error);
  }
};
