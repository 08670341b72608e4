/**
 * SQL of the version of an account's data: where its events end, where those of the installation do, and the epochs of
 * all read models. Rows are a function of (events, epoch). So an answer that held all events up to there stays right
 * while the version stays the same.
 *
 * A version read after a write was answered differs from every version before: the append itself writes the position.
 * @param customer the account's id, e.g. `$1` or a column
 */
export const accountVersionSql = (customer: string): string =>
  `(${writtenSql(customer)} || ' ' || ${installationWrittenSql} || ${epochsSql})`;

/** Conversion events have a mark of their own (`migrations/event-log.ts`): only what is made of them waits for them. */
const markTables = { account: 'account_positions', conversions: 'conversion_positions' } as const;
export type MarkKind = keyof typeof markTables;

const writtenSql = (customer: string, kind: MarkKind = 'account'): string =>
  `coalesce((select position from ${markTables[kind]} where customer_id = ${customer}), '-') collate "C"`;

/** Events that belong to no account, e.g. those of the directory of sellers, name account 0, which nobody has. */
const installationWrittenSql = writtenSql('0');

const epochsSql = `coalesce((select string_agg(' ' || name || '=' || epoch, '' order by name)
  from projection_checkpoints), '')`;

/** A read model that an answer is made of: SQL of its name, or of that and of whether the answer shows anything of it. */
export type ShownReadModel = string | { readonly name: string; readonly when: string };

/** Null, which `least` passes over, for a read model of which nothing is shown. */
const reachedSql = (projection: ShownReadModel): string =>
  typeof projection === 'string'
    ? `coalesce((select position from projection_checkpoints where name = ${projection}), '-') collate "C"`
    : `case when ${projection.when} then ${reachedSql(projection.name)} end`;

/** @param written SQL of the positions that are all waited for */
const freshnessOf = (written: readonly string[], projections: readonly ShownReadModel[]): string =>
  `(select greatest(${written.join(', ')}) as written, least(${projections.map(reachedSql).join(', ')}) as reached)`;

/**
 * How a read model stands to an account's writes, in the snapshot of the rows that come with it: a table
 * expression of one row for a `from` list, e.g. `from ${freshnessSql('$1', '$2')} as f`, whose columns
 * `freshnessColumns` selects.
 * @param projection parameter of the read model's name, e.g. `$2`
 * @param kind `conversions` for a read model of conversion events
 */
export const freshnessSql = (customer: string, projection: string, kind: MarkKind = 'account'): string =>
  freshnessOf([writtenSql(customer, kind)], [projection]);

/** The same for an answer made of two read models: it reaches as far as the one that is behind. */
export const freshnessOfBothSql = (customer: string, projection: string, other: string): string =>
  freshnessOf([writtenSql(customer)], [projection, other]);

/**
 * The same for an answer that also shows what belongs to the installation: all that it has written is waited for, too.
 * @param projections the first one decides of which of the others anything is shown: it always counts
 */
export const freshnessWithInstallationSql = (
  customer: string,
  projections: readonly [string, ...ShownReadModel[]],
): string => freshnessOf([writtenSql(customer), installationWrittenSql], projections);

/** The same for an answer that also holds conversion events' rows, of the read model `conversions`. */
export const freshnessWithConversionsSql = (customer: string, projection: string): string =>
  freshnessOf([writtenSql(customer), writtenSql(customer, 'conversions')], [projection, `'conversions'`]);

export const freshnessColumns = (alias: string): string =>
  `${alias}.written, ${alias}.reached, ${alias}.written <= ${alias}.reached as fresh`;

/** The columns of `freshnessColumns`. */
export interface Freshness {
  /** The last position that is waited for: the account's, usually. */
  readonly written: string;
  /** The read model's. */
  readonly reached: string;
  /** The rows hold everything up to `written`, in their snapshot. */
  readonly fresh: boolean;
}
