import type { z } from 'zod';
import { ApiError } from './errors.ts';
import { check, sentenceOf } from './problems.ts';

const ISSUES_MAX = 100;

/** @throws ApiError VALIDATION_ERROR: `field` is the first problem's path, `details.issues` the first 100 */
export const validate = <Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> => {
  const checked = check(schema, input);
  if (checked.problems === undefined) return checked.value;
  const [first] = checked.problems;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `${sentenceOf(first, 'The request')}. Correct it and send the request again.`,
    ...(first.path === '' ? {} : { field: first.path }),
    details: { issues: checked.problems.slice(0, ISSUES_MAX) },
  });
};
