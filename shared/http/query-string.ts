import { ApiError } from './errors.ts';

/** Ignores unknown parameters. @throws ApiError BAD_REQUEST, VALIDATION_ERROR */
export const parseQueryString = (
  search: string,
  known: ReadonlySet<string>,
): Readonly<Record<string, string>> => {
  const parameters: Record<string, string> = {};
  if (search === '') return parameters;
  for (const pair of search.split('&')) {
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? '' : pair.slice(equals + 1));
    if (!known.has(name)) continue;
    if (Object.hasOwn(parameters, name)) refuse(name, 'is given more than once. Give it once');
    if (value === '') refuse(name, 'is empty. Give a value or leave it out');
    if (value.includes('\0')) refuse(name, 'holds U+0000. Remove it');
    parameters[name] = value;
  }
  return parameters;
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ApiError({
      code: 'BAD_REQUEST',
      message: 'The query string has broken percent-encoding. Encode it as UTF-8.',
    });
  }
};

const refuse = (name: string, problem: string): never => {
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `Query parameter ${name} ${problem}.`,
    field: name,
  });
};
