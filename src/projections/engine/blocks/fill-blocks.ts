import type { ClientBase, QueryResult } from 'pg';
import { cutSql } from './cut-block.ts';
import {
  listedSql,
  NO_ID,
  pieceOf,
  runBlocksOf,
  type Block,
  type Counted,
  type List,
  type ListBlocks,
} from './list-blocks.ts';
import { endRuns } from './runs.ts';

/** Rows that are counted into blocks by one statement while they are made of a whole table. */
const FILLED_AT_ONCE = 16_384;

const DELETED_AT_ONCE = 20_000;

/** In steps, each of which a statement's time is enough for. */
const deleteAll = async (client: ClientBase, { table }: ListBlocks): Promise<void> => {
  for (let deleted: number | null = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE;) {
    const gone: QueryResult = await client.query(
      `delete from ${table} where ctid = any(array(select ctid from ${table} limit ${DELETED_AT_ONCE}))`,
    );
    deleted = gone.rowCount;
  }
};

/** Makes all blocks of the rows that are there, in the transaction of `client`, in which nobody else writes them. */
export const fillBlocks = async (client: ClientBase, blocks: ListBlocks): Promise<void> => {
  await deleteAll(client, blocks);
  const { rows: table, lists, idType } = blocks;
  const advertiser = lists === 'account' ? '0' : 'advertiser_id';
  const next = async (after: readonly unknown[]): Promise<List | undefined> =>
    (
      await client.query<Block>(
        `select customer_id, ${advertiser} as advertiser_id from ${table} r
         where ${lists === 'account' ? 'customer_id > $1 and $2::int = 0' : '(customer_id, advertiser_id) > ($1, $2)'}
           ${listedSql(blocks)}
         order by 1, 2 limit 1`,
        [...after],
      )
    ).rows[0];
  for (let list = await next([-1, 0]); list !== undefined;) {
    const of = [list.customer_id, list.advertiser_id];
    let place: readonly unknown[] = ['-infinity', NO_ID[idType]];
    let filled = 0;
    for (let from: '>' | '>=' = '>='; ; from = '>') {
      const { rows } = await client.query<Counted>({
        name: `${blocks.table}-fill${from}`,
        text: cutSql(blocks, from),
        values: [...of, ...place, FILLED_AT_ONCE],
      });
      const [last] = rows;
      filled += Number(last?.count ?? 0);
      if (last === undefined || Number(last.count) < FILLED_AT_ONCE) break;
      place = [last.first_at, last.first_id];
    }
    if (filled > runBlocksOf(blocks) * pieceOf(blocks)) {
      await endRuns(client, blocks, [[Number(list.customer_id), list.advertiser_id]]);
    }
    list = await next(of);
  }
};
