/**
 * SQL of the version of an account's data: the last positions of the account and of the installation, and the epochs
 * of all read models. Rows are a function of (events, epoch), so an answer that contains all events up to those
 * positions stays correct while the version is unchanged. The append itself writes the position: a version that is
 * read after a write was answered differs from every earlier version.
 * @param customer the account's id, e.g. `$1` or a column
 */
export const accountVersionSql = (customer: string): string =>
  `(${writtenSql(customer)} || ' ' || ${installationWrittenSql} || ${epochsSql})`;

/**
 * @param table of the last written positions. Streams with very many events have their own table, so that only reads of
 *   those events wait for them
 */
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

/** @param written SQL of the positions that the answer must contain */
const freshnessOf = (written: readonly string[], projections: readonly ShownReadModel[]): string =>
  `(select greatest(${written.join(', ')}) as written, least(${projections.map(reachedSql).join(', ')}) as reached)`;

/**
 * SQL of a one-row table that compares a read model with an account's writes, in the same snapshot as the rows of the
 * query: `from ${freshnessSql('$1', '$2')} as f`. `freshnessColumns` selects its columns.
 * @param projection parameter of the read model's name, e.g. `$2`
 * @param table of the last written positions of the events that the read model is made of
 */
export const freshnessSql = (customer: string, projection: string, table?: string): string =>
  freshnessOf([writtenSql(customer, table)], [projection]);

/**
 * The same for an answer that is made of two read models: it is as fresh as the one that lags more.
 * @param otherTable of the last written positions for `other`, if it has its own
 */
export const freshnessOfBothSql = (
  customer: string,
  projection: string,
  other: string,
  otherTable?: string,
): string =>
  freshnessOf(
    [writtenSql(customer), ...(otherTable === undefined ? [] : [writtenSql(customer, otherTable)])],
    [projection, other],
  );

/** For an answer that also contains data of the installation. The first projection is always included. */
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

/** SQL that is false while a rebuild of the read model has not yet reached the position where it began. */
export const isWholeSql = (projection: string): string => `coalesce(
  (select position >= whole_at from projection_checkpoints where name = '${projection}'), true)`;
