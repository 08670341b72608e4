import type { ClientBase } from 'pg';
import {
  KEY,
  listedSql,
  NO_ID,
  ofBlocks,
  pieceOf,
  placeOf,
  type Block,
  type ListBlocks,
} from './list-blocks.ts';

/** Its rows are counted again: into blocks of half the size, and one of what is left over, which is the last. */
export const cutBlock = async (client: ClientBase, blocks: ListBlocks, block: Block): Promise<void> => {
  await client.query({
    name: `${blocks.table}-uncut`,
    text: `delete from ${blocks.table}
           where customer_id = $1 and advertiser_id = $2 and first_at = $3 and first_id = $4 and ${ofBlocks('kind')}`,
    values: [...placeOf(block)],
  });
  await client.query({
    name: `${blocks.table}-cut`,
    text: cutSql(blocks, '>='),
    values: [...placeOf(block), null],
  });
};

/**
 * SQL that counts the rows from a place on up to the next block, or so many of them ($5), into new blocks; the first one
 * begins at the place itself where that belongs to it (`>=`). The last of the rows is told, and how many they were.
 */
export const cutSql = (blocks: ListBlocks, from: '>' | '>='): string => {
  const { table, rows, at, lists, kinds, idType } = blocks;
  const isFirst = `where n % ${pieceOf(blocks)} = 0`;
  const place = (column: 'at' | 'id', param: string): string =>
    from === '>=' ? `case when piece = 0 then ${param} else first_${column} end` : `first_${column}`;
  return `
  with numbered as materialized (
    select r.${at} as at, r.id, ${kinds} as kinds, row_number() over (order by r.${at}, r.id) - 1 as n
    from ${rows} r
    where r.customer_id = $1 and ${lists === 'account' ? '$2::int = 0' : 'r.advertiser_id = $2'} ${listedSql(blocks)}
      and (r.${at}, r.id) ${from} ($3::timestamptz, $4::${idType})
      and (r.${at}, r.id) < (
        coalesce((select first_at from ${table} where customer_id = $1 and advertiser_id = $2 and kind = ''
          and (first_at, first_id) > ($3::timestamptz, $4::${idType}) order by first_at, first_id limit 1), 'infinity'),
        coalesce((select first_id from ${table} where customer_id = $1 and advertiser_id = $2 and kind = ''
          and (first_at, first_id) > ($3::timestamptz, $4::${idType}) order by first_at, first_id limit 1),
          '${NO_ID[idType]}'))
    order by r.${at}, r.id limit $5::bigint
  ), grouped as (
    select n / ${pieceOf(blocks)} as piece, kinds, count(*) as count, min(at) filter (${isFirst}) as first_at,
      (array_agg(id) filter (${isFirst}))[1] as first_id
    from numbered group by 1, 2
  ), pieces as (
    select piece, kinds, count, first_value(first_at) over w as first_at, first_value(first_id) over w as first_id
    from grouped window w as (partition by piece order by first_at nulls last)
  ), counted as (
    insert into ${table} (${KEY}, count)
    select $1, $2, ${place('at', '$3::timestamptz')}, ${place('id', `$4::${idType}`)}, k.kind, sum(count)
    from pieces, unnest(kinds || ''::text) as k(kind) group by 3, 4, 5
  )
  select at::text as first_at, id as first_id, n + 1 as count from numbered order by n desc limit 1`;
};
