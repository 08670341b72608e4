import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { parseQueryString } from './query-string.ts';
import { validate } from './validate.ts';

/** After the question mark. */
export const searchOf = ({ url = '' }: Pick<IncomingMessage, 'url'>): string => {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
};

/** @param names of the schema's members @throws ApiError BAD_REQUEST, VALIDATION_ERROR */
export const readQuery = <Schema extends z.ZodType>(
  schema: Schema,
  names: ReadonlySet<string>,
  search: string,
): z.output<Schema> => validate(schema, parseQueryString(search, names));

/** @param names in lower case @throws ApiError VALIDATION_ERROR */
export const readHeaders = <Schema extends z.ZodType>(
  schema: Schema,
  names: readonly string[],
  request: IncomingMessage,
): z.output<Schema> =>
  validate(
    schema,
    Object.fromEntries(
      names.flatMap((name) => {
        const value = request.headers[name];
        return typeof value === 'string' ? [[name, value]] : [];
      }),
    ),
  );
