import { z } from 'zod';
import type { List } from './kinds.ts';
import { dataOf, memberOf, type Operations } from './operations.ts';

/** The schema of the rows of a list. */
export const itemOf = (operations: Operations, { operationId, member }: List): z.ZodType => {
  const data = dataOf(operations.of(operationId));
  const rows = member === undefined ? data : memberOf(data, member);
  if (!(rows instanceof z.ZodArray)) throw new Error(`${operationId} answers no list`);
  return rows.element as z.ZodType;
};
