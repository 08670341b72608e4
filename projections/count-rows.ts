import type { ClientBase } from 'pg';
import { int8Array } from '../shared/postgres/binary-array.ts';
import { arrayOf, sqlTypes, type Column, type RowChange } from './folded-rows.ts';

interface OfAccount {
  readonly customerId: number;
}

/** For the totals of lists. Written together with the rows. */
export interface CountTable<Row extends OfAccount> {
  readonly table: string;
  /** The table's key is `customer_id` and these. */
  readonly columns: readonly Column<Row>[];
  /** None if no list contains the row. Default: the row itself. */
  readonly counted?: (row: Row) => readonly Row[];
}

/** Sorted, so that concurrent writers cannot deadlock. */
export const addCounts = async <Row extends OfAccount>(
  client: ClientBase,
  { table, columns, counted = (row) => [row] }: CountTable<Row>,
  changes: readonly Pick<RowChange<Row>, 'before' | 'after'>[],
): Promise<void> => {
  const sums = new Map<string, { readonly row: Row; sum: number }>();
  const add = (row: Row | undefined, change: 1 | -1): void => {
    for (const one of row === undefined ? [] : counted(row)) {
      const key = [one.customerId, ...columns.map(({ value }) => value(one))].join('/');
      const known = sums.get(key);
      if (known === undefined) sums.set(key, { row: one, sum: change });
      else known.sum += change;
    }
  };
  for (const { before, after } of changes) {
    add(before, -1);
    add(after, 1);
  }
  const deltas = [...sums]
    .filter(([, { sum }]) => sum !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, delta]) => delta);
  if (deltas.length === 0) return;
  const rows = deltas.map(({ row }) => row);
  const key = ['customer_id', ...columns.map(({ name }) => name)].join(', ');
  await client.query({
    name: `${table}-add`,
    text: `insert into ${table} as c (count, ${key})
           select * from unnest($1::bigint[], $2::bigint[],
             ${columns.map(({ type }, n) => `$${n + 3}::${sqlTypes[type]}[]`).join(', ')})
           on conflict (${key}) do update set count = c.count + excluded.count`,
    values: [
      int8Array(deltas.map(({ sum }) => sum)),
      int8Array(rows.map(({ customerId }) => customerId)),
      ...columns.map((column) => arrayOf(column, rows)),
    ],
  });
};

export const countedBy = <Row>(
  { columns }: { readonly columns: readonly Column<Row>[] },
  ...names: readonly string[]
): readonly Column<Row>[] => columns.filter(({ name }) => names.includes(name));
