import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { check, sentenceOf } from '../shared/http/problems.ts';

/** How arguments and options are read. */

/** The arguments do not go together; the message says why. */
export class WordsError extends Error {
  override readonly name = 'WordsError';
}

/**
 * Makes a parser of one argument or option.
 * @param problem what to say when the value does not fit
 * @returns a function that throws InvalidArgumentError
 */
export const parsed =
  <T>(schema: z.ZodType<T>, problem: string) =>
  (word: string): T => {
    const checked = check(schema, word);
    if (checked.problems !== undefined) throw new InvalidArgumentError(problem);
    return checked.value;
  };

export const parseId = parsed(
  z
    .string()
    .regex(/^[1-9]\d{0,9}$/)
    .transform(Number),
  'It must be an id: a whole number from 1.',
);

/**
 * Reads several options at once.
 * @param options the option that each member of `values` was given with, e.g. `--logo-url`
 * @throws WordsError naming every option at fault
 */
export const readOptions = <Schema extends z.ZodObject>(
  schema: Schema,
  values: { readonly [Member in keyof z.input<Schema>]?: unknown },
  options: Readonly<Record<keyof z.input<Schema>, string>>,
): z.output<Schema> => {
  const checked = check(schema, values);
  if (checked.problems === undefined) return checked.value;
  const optionOf = (path: string): string =>
    (options as Readonly<Record<string, string>>)[path.split('.')[0] ?? ''] ?? '';
  const problems = checked.problems.map((one) =>
    sentenceOf({ ...one, path: optionOf(one.path) }, 'What was given'),
  );
  throw new WordsError(problems.join('; '));
};
