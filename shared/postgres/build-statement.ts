import knex, { type Knex } from 'knex';

/** Builds SQL with optional filters. It has no connection. Its values are parameter names (`builtStatement`). */
export const sql = knex({ client: 'pg', wrapIdentifier: (name) => name });

/** SQL and the names of its parameters: the first name is `$1`. */
export interface BuiltStatement {
  readonly text: string;
  readonly parameters: readonly string[];
}

/**
 * Renders a query whose values are parameter names. Equal names become one parameter; `customerId` is always `$1`.
 * Building takes about 0.2 ms, so callers do it once for each set of filters.
 */
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

/**
 * Returns a short name for a prepared statement. Postgres allows 63 characters, which a list of filters can exceed.
 * @param about prefix of the name
 * @param filters names of all filters; the number of sets must be bounded, because each name is kept
 */
export const statementName = (about: string, filters: string): string => {
  const long = `${about}-${filters}`;
  const known = names.get(long);
  if (known !== undefined) return known;
  const name = `${about}-${names.size + 1}`;
  names.set(long, name);
  return name;
};

/** SQL that formats a timestamptz as in the API: ISO 8601 in UTC with milliseconds. */
export const isoTimestampSql = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
