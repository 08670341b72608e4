import type { z } from 'zod';
import { ApiError } from './errors.ts';

const ISSUES_MAX = 100;

/**
 * Checks input against its schema.
 * @throws ApiError VALIDATION_ERROR: `field` is the dotted path of the first problem, `details.issues` lists
 *   all of them (decisions.md 1.1, row 8), the first 100
 */
export const validate = <Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> => {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, ISSUES_MAX).map(({ path, message, code }) => ({
    path: path.map(String).join('.'),
    message,
    code: code ?? 'custom',
  }));
  const [first] = issues;
  const field = first?.path ?? '';
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `${field === '' ? 'The request' : field}: ${first?.message ?? 'invalid'}. Correct it and send the request again.`,
    ...(field === '' ? {} : { field }),
    details: { issues },
  });
};
