/**
 * SQL of an account's mark: where its events end, and the epochs of all read models. As long as it stays the
 * same, nothing in any read model that follows from the account's own events has changed, once a read model has
 * reached that end: rows are a function of (events, epoch). So an answer that was made when its read model was
 * fresh stays right while the mark, judged in the same snapshot, is the same.
 *
 * A mark read after a write was answered differs from every mark before: the append itself writes the position.
 * @param customer the account's id, e.g. `$1` or a column
 */
export const accountMarkSql = (customer: string): string => `(${writtenSql(customer)} || ${epochsSql})`;

/** Conversion events have a mark of their own (migrations 0011 and 0021): only what is made of them waits for them. */
const markTables = { account: 'account_positions', conversions: 'conversion_positions' } as const;
export type MarkKind = keyof typeof markTables;

const writtenSql = (customer: string, kind: MarkKind = 'account'): string =>
  `coalesce((select position from ${markTables[kind]} where customer_id = ${customer}), '-') collate "C"`;

const epochsSql = `coalesce((select string_agg(' ' || name || '=' || epoch, '' order by name)
  from projection_checkpoints), '')`;

/**
 * How a read model stands to an account's writes, in the snapshot of the rows that come with it: a table
 * expression of one row for a `from` list, e.g. `from ${freshnessSql('$1', '$2')} as f`, whose columns
 * `freshnessColumns` selects.
 * @param projection parameter of the read model's name, e.g. `$2`
 * @param kind `conversions` for a read model of conversion events
 */
export const freshnessSql = (customer: string, projection: string, kind: MarkKind = 'account'): string =>
  `(select ${writtenSql(customer, kind)} as written, ${epochsSql} as epochs,
      coalesce((select position from projection_checkpoints where name = ${projection}), '-') collate "C" as reached)`;

/** The same for an answer made of two read models: it reaches as far as the one that is behind. */
export const freshnessOfBothSql = (customer: string, projection: string, other: string): string =>
  `(select a.written, a.epochs, least(a.reached, b.reached) as reached
    from ${freshnessSql(customer, projection)} a, ${freshnessSql(customer, other)} b)`;

/** The same for an answer that also holds conversion events' rows, of the read model `conversions`. */
export const freshnessWithConversionsSql = (customer: string, projection: string): string =>
  `(select greatest(a.written, b.written) as written, a.epochs, least(a.reached, b.reached) as reached
    from ${freshnessSql(customer, projection)} a, ${freshnessSql(customer, `'conversions'`, 'conversions')} b)`;

export const freshnessColumns = (alias: string): string =>
  `${alias}.written, ${alias}.reached, ${alias}.written <= ${alias}.reached as fresh,
   ${alias}.written || ${alias}.epochs as mark`;

/** The columns of `freshnessColumns`. */
export interface Freshness {
  /** The account's last position. */
  readonly written: string;
  /** The read model's. */
  readonly reached: string;
  /** The rows hold everything that the account has written up to their snapshot. */
  readonly fresh: boolean;
  readonly mark: string;
}

/** The mark to keep an answer with. One that lacks the newest writes is right for whoever asked before them, and for nobody else. */
export const keptMark = ({ fresh, mark }: Freshness): string | undefined => (fresh ? mark : undefined);
