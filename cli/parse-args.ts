import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { check, sentenceOf } from '../shared/http/problems.ts';

export class ArgumentsError extends Error {
  override readonly name = 'ArgumentsError';
}

/** @param problem the message for an invalid value @returns a parser that throws InvalidArgumentError */
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
  'It must be an id: a whole number of at least 1.',
);

/** @param options the option of each member, e.g. `--logo-url` @throws ArgumentsError naming invalid ones */
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
    sentenceOf({ ...one, path: optionOf(one.path) }, 'The command'),
  );
  throw new ArgumentsError(problems.join('; '));
};
