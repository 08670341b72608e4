import knex, { type Knex } from 'knex';

/** Values are parameter names (`builtStatement`). */
export const sql = knex({ client: 'pg', wrapIdentifier: (name) => name });

/** The first parameter's name is `$1`. */
export interface BuiltStatement {
  readonly text: string;
  readonly parameters: readonly string[];
}

/** Takes about 0.2 ms: call it once for each set of filters. `customerId` is always `$1`. */
export const builtStatement = (query: Knex.Raw): BuiltStatement => {
  const { sql: built, bindings } = query.toSQL().toNative();
  const parameters = [...new Set(['customerId', ...(bindings as readonly string[])])];
  const text = built.replace(
    /\$(\d+)/g,
    (_, n: string) => `$${parameters.indexOf(bindings[Number(n) - 1] as string) + 1}`,
  );
  return { text, parameters };
};

const names = new Map<string, string>();

/** At most 63 characters. @param filters their sets must be bounded: names are kept */
export const statementName = (about: string, filters: string): string => {
  const long = `${about}-${filters}`;
  const known = names.get(long);
  if (known !== undefined) return known;
  const name = `${about}-${names.size + 1}`;
  names.set(long, name);
  return name;
};

/** As in the API: ISO 8601 in UTC with milliseconds. */
export const isoTimestampSql = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
