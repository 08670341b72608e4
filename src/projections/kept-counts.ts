import type { ClientBase } from 'pg';
import { int4Array, int8Array, textArray } from '../shared/postgres/binary-array.ts';

/** A table of counts: of an advertiser's things, or with `advertiser_id` 0 of the account's, by their kind. */
export interface CountTable {
  readonly table: string;
  /** Text columns that say the kind. */
  readonly columns: readonly string[];
}

/** So many more, or less, of a kind. */
interface CountChange {
  readonly customerId: number;
  readonly advertiserId: number;
  /** In the order of the columns. */
  readonly kind: readonly string[];
  readonly change: number;
}

/** Adds to kept counts, in a fixed order, so that two writers can never wait for each other. */
export const addCounts = async (
  client: ClientBase,
  { table, columns }: CountTable,
  changes: readonly CountChange[],
): Promise<void> => {
  const sums = new Map<string, CountChange>();
  for (const one of changes) {
    const key = [one.customerId, one.advertiserId, ...one.kind].join('/');
    sums.set(key, { ...one, change: (sums.get(key)?.change ?? 0) + one.change });
  }
  const deltas = [...sums]
    .filter(([, { change }]) => change !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, delta]) => delta);
  if (deltas.length === 0) return;
  const key = ['customer_id', 'advertiser_id', ...columns].join(', ');
  await client.query({
    name: `${table}-add`,
    text: `insert into ${table} as c (${key}, count)
           select * from unnest($1::bigint[], $2::int[], ${columns.map((_, n) => `$${n + 4}::text[]`).join(', ')},
             $3::bigint[])
           on conflict (${key}) do update set count = c.count + excluded.count`,
    values: [
      int8Array(deltas.map(({ customerId }) => customerId)),
      int4Array(deltas.map(({ advertiserId }) => advertiserId)),
      int8Array(deltas.map(({ change }) => change)),
      ...columns.map((_, n) => textArray(deltas.map(({ kind }) => kind[n] ?? ''))),
    ],
  });
};
