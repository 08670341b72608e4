import { runSql } from './bench-database.ts';

/** Fills a table without its indexes and creates them afterwards: updating them row by row takes most of the time. */
export const withoutIndexes = async (
  url: string,
  table: string,
  ...statements: readonly string[]
): Promise<void> => {
  const indexes = (await runSql(
    url,
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename = '${table}' and indexname not like '%_pkey'`,
  )) as { name: string; definition: string }[];
  await runSql(
    url,
    ...indexes.map(({ name }) => `drop index ${name}`),
    ...statements,
    `set maintenance_work_mem = '256MB'`,
    ...indexes.map(({ definition }) => definition),
  );
};
