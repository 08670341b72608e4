/**
 * SQL of the version of an account's data: the last positions of the account and of the installation, and the epochs
 * of all read models. Rows are a function of (events, epoch), so an answer that contains all events up to those
 * positions stays correct while the version is unchanged. The append itself writes the position: a version that is
 * read after a write was answered differs from every earlier version.
 * @param customer the account's id, e.g. `$1` or a column
 */
export const accountVersionSql = (customer: string): string =>
  `(${writtenSql(customer)} || ' ' || ${installationWrittenSql} || ${epochsSql})`;

/** Only reads of conversions wait for conversion events (`migrations/event-log.ts`). */
const markTables = { account: 'account_positions', conversions: 'conversion_positions' } as const;
export type MarkKind = keyof typeof markTables;

const writtenSql = (customer: string, kind: MarkKind = 'account'): string =>
  `coalesce((select position from ${markTables[kind]} where customer_id = ${customer}), '-') collate "C"`;

/** Events without an account, e.g. of the seller directory, are stored for account 0. */
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
 * @param kind `conversions` for a read model of conversion events
 */
export const freshnessSql = (customer: string, projection: string, kind: MarkKind = 'account'): string =>
  freshnessOf([writtenSql(customer, kind)], [projection]);

export const freshnessOfBothSql = (customer: string, projection: string, other: string): string =>
  freshnessOf([writtenSql(customer)], [projection, other]);

/** For an answer that also contains data of the installation. The first projection is always included. */
export const freshnessWithInstallationSql = (
  customer: string,
  projections: readonly [string, ...ShownReadModel[]],
): string => freshnessOf([writtenSql(customer), installationWrittenSql], projections);

export const freshnessWithConversionsSql = (customer: string, projection: string): string =>
  freshnessOf([writtenSql(customer), writtenSql(customer, 'conversions')], [projection, `'conversions'`]);

export const freshnessColumns = (alias: string): string =>
  `${alias}.written, ${alias}.reached, ${alias}.written <= ${alias}.reached as fresh`;

export interface Freshness {
  readonly written: string;
  readonly reached: string;
  readonly fresh: boolean;
}
