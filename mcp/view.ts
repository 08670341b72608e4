import { z } from 'zod';
import { invalid } from '../shared/http/errors.ts';
import type { Row } from './truncate.ts';

export const viewArguments = {
  view: z
    .enum(['summary', 'full'])
    .default('summary')
    .meta({ description: 'summary: the few members that identify a row. full: all members.' }),
  fields: z
    .array(z.string().min(1).max(100))
    .min(1)
    .max(50)
    .optional()
    .meta({ description: 'The members to return, instead of a view.' }),
};

export interface View {
  readonly view: 'summary' | 'full';
  readonly fields?: readonly string[] | undefined;
}

export interface Viewed {
  /** All members that a row may have. */
  readonly members: readonly string[];
  readonly summary: readonly string[];
}

/** @throws ApiError VALIDATION_ERROR if rows have no such member */
export const viewOf = ({ view, fields }: View, { members, summary }: Viewed): ((row: Row) => Row) => {
  const unknown = fields?.find((field) => !members.includes(field));
  if (unknown !== undefined) {
    throw invalid(`There is no member ${JSON.stringify(unknown)}. Members: ${members.join(', ')}.`, 'fields');
  }
  const kept = fields ?? (view === 'summary' ? summary : undefined);
  if (kept === undefined) return (row) => row;
  const names = new Set(kept);
  return (row) => Object.fromEntries(Object.entries(row).filter(([member]) => names.has(member)));
};
