import { z } from 'zod';
import { ApiError } from '../shared/http/errors.ts';
import { validate } from '../shared/http/validate.ts';

/** How the operator's words are read. */

/** The words do not make a command; the message says what is missing. */
export class WordsError extends Error {
  override readonly name = 'WordsError';
}

/** Whether something is right could not be found out: exit status 2. */
export class VerifyFailedError extends Error {
  override readonly name = 'VerifyFailedError';
}

/**
 * @param problem what to say when the value does not fit. Default: what the schema says
 * @throws WordsError
 */
export const read = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  problem?: string,
): z.output<Schema> => {
  try {
    return validate(schema, value);
  } catch (error) {
    if (error instanceof ApiError) throw new WordsError(problem ?? error.message);
    throw error;
  }
};

const Id = z
  .string()
  .regex(/^[1-9]\d{0,9}$/)
  .transform(Number);

/** @param word its place in the command, e.g. `ACCOUNT` */
export const idOf = (place: string, word: string | undefined): number =>
  read(Id, word, `${place} must be the id of ${/^[AEIOU]/.test(place) ? 'an' : 'a'} ${place.toLowerCase()}`);
