/**
 * Rows are a function of (events, epoch): an answer with all events up to these positions stays correct while
 * the version is unchanged. The append writes the position, so a version read after an answered write is new.
 */
export const accountVersionSql = (customer: string): string =>
  `(${writtenSql(customer)} || ' ' || ${installationWrittenSql} || ${epochsSql})`;

// `table`: streams with very many events have their own, so that only reads of those events wait for them.
const writtenSql = (customer: string, table = 'account_positions'): string =>
  `coalesce((select position from ${table} where customer_id = ${customer}), '-') collate "C"`;

/** Events of the installation name account 0, which belongs to no customer. */
const installationWrittenSql = writtenSql('0');

const epochsSql = `coalesce((select string_agg(' ' || name || '=' || epoch, '' order by name)
  from projection_checkpoints), '')`;

/** SQL of a read model's name. `when`: SQL of whether the answer contains any of its rows. */
export type ShownReadModel = string | { readonly name: string; readonly when: string };

/** Null, which `least` ignores, for a read model that the answer does not contain. */
const reachedSql = (projection: ShownReadModel): string =>
  typeof projection === 'string'
    ? `coalesce((select position from projection_checkpoints where name = ${projection}), '-') collate "C"`
    : `case when ${projection.when} then ${reachedSql(projection.name)} end`;

const freshnessOf = (written: readonly string[], projections: readonly ShownReadModel[]): string =>
  `(select greatest(${written.join(', ')}) as written, least(${projections.map(reachedSql).join(', ')}) as reached)`;

/** SQL of a one-row table, in the snapshot of the query's rows. @param projection e.g. `$2` */
export const freshnessSql = (customer: string, projection: string): string =>
  freshnessOf([writtenSql(customer)], [projection]);

/** As fresh as the read model that lags most. @param table of further written positions */
export const freshnessOfAllSql = (customer: string, projections: readonly string[], table?: string): string =>
  freshnessOf(
    [writtenSql(customer), ...(table === undefined ? [] : [writtenSql(customer, table)])],
    projections,
  );

/** As fresh as the read model that lags more. */
export const freshnessOfBothSql = (
  customer: string,
  projection: string,
  other: string,
  otherTable?: string,
): string => freshnessOfAllSql(customer, [projection, other], otherTable);

export const freshnessWithInstallationSql = (
  customer: string,
  projections: readonly [string, ...ShownReadModel[]],
): string => freshnessOf([writtenSql(customer), installationWrittenSql], projections);

export const freshnessColumns = (alias: string): string =>
  `${alias}.written, ${alias}.reached, ${alias}.written <= ${alias}.reached as fresh`;

export interface Freshness {
  readonly written: string;
  readonly reached: string;
  readonly fresh: boolean;
}

/** False while a rebuild has not yet reached the position where it began. */
export const isWholeSql = (projection: string): string => `coalesce(
  (select position >= whole_at from projection_checkpoints where name = '${projection}'), true)`;
