import { z } from 'zod';
import { kindOf, type KindName, type List } from './kinds.ts';
import { dataOf, memberOf, membersOf, type Operations } from './operations.ts';
import type { Viewed } from './view.ts';

/** The schema of the rows of a list. */
const itemOf = (operations: Operations, { operationId, member }: List): z.ZodType => {
  const data = dataOf(operations.of(operationId));
  const rows = member === undefined ? data : memberOf(data, member);
  if (!(rows instanceof z.ZodArray)) throw new Error(`${operationId} answers no list`);
  return rows.element as z.ZodType;
};

/** @throws Error if rows have no member that a summary needs */
export const viewedIn = (operations: Operations, kind: KindName, list: List): Viewed => {
  const members = membersOf(itemOf(operations, list));
  const { summary } = kindOf(kind);
  const missing = summary.find((member) => !members.includes(member));
  if (missing !== undefined) throw new Error(`${list.operationId} shows no ${missing}`);
  return { members, summary };
};
