/** SQL of a timestamptz as the API shows times: ISO 8601 in UTC with milliseconds. */
export const isoTimestampSql = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
