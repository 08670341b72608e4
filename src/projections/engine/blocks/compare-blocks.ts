import { RUN } from '../../../shared/read-your-writes/kept-blocks.ts';
import type { Comparison } from '../comparison.ts';
import { listedSql, NO_ID, ofBlocks, RUN_KIND, type ListBlocks } from './list-blocks.ts';

/**
 * How blocks are compared: where they begin depends on the batches, what they add up to does not, and each has as many rows
 * as it says.
 * @param areMade in the copy, too; otherwise its rows say what they have to be
 */
export const blocksCompared = (blocks: ListBlocks, areMade: boolean): Comparison => ({
  instead: {
    select: (table, beside) => judgeBlocksSql(blocks, table, beside(blocks.rows)),
    ...(!areMade && { ofCopy: (_, beside) => soundBlocksSql(blocks, beside(blocks.rows)) }),
    key: ['customer_id', 'advertiser_id', 'kind'],
  },
});

/** SQL of what `judgeBlocksSql` says of blocks that are as the rows are. */
const soundBlocksSql = (blocks: ListBlocks, rows: string): string => {
  const { lists, kinds } = blocks;
  return `
  select customer_id, advertiser_id, k.kind, sum(r.count)::bigint as count, 0::bigint as astray
  from (select r.customer_id, ${lists === 'account' ? '0' : 'r.advertiser_id'} as advertiser_id, ${kinds} as kinds, count(*) as count
        from ${rows} r where true ${listedSql(blocks)} group by 1, 2, 3) r,
    unnest(r.kinds || ''::text) as k(kind)
  group by 1, 2, 3`;
};

/**
 * SQL of the sum of each kind of each list, and how many of its blocks have not as many rows as they say, and of its runs not as
 * many as their blocks, or end where none begins (`astray`); a list without blocks is one that says none.
 */
export const judgeBlocksSql = (blocks: ListBlocks, table: string, rows: string): string => {
  const { at, lists, kinds, idType } = blocks;
  return `
  select customer_id, advertiser_id, kind, coalesce(sum(kept) filter (where not is_run), 0)::bigint as count,
    count(*) filter (where kept <> found) as astray
  from (
    select customer_id, advertiser_id, first_at, first_id, kind, is_run, sum(kept) as kept, sum(found) as found
    from (
      select customer_id, advertiser_id, first_at, first_id, ltrim(kind, '${RUN}') as kind, ${RUN_KIND} as is_run,
        count as kept, 0 as found
      from ${table}
      union all
      select b.customer_id, b.advertiser_id, r.first_at, r.first_id, b.kind, true, 0, b.count
      from ${table} b, lateral (
        select first_at, first_id from ${table} r
        where r.customer_id = b.customer_id and r.advertiser_id = b.advertiser_id and r.kind = '${RUN}'
          and (r.first_at, r.first_id) > (b.first_at, b.first_id)
        order by r.first_at, r.first_id limit 1) r
      where ${ofBlocks('b.kind')}
      union all
      select r.customer_id, r.advertiser_id, r.first_at, r.first_id, '', true, 1, 0
      from ${table} r where r.kind = '${RUN}' and not exists (
        select from ${table} b where b.customer_id = r.customer_id and b.advertiser_id = r.advertiser_id and b.kind = ''
          and b.first_at = r.first_at and b.first_id = r.first_id)
      union all
      select b.customer_id, b.advertiser_id, b.first_at, b.first_id, k.kind, false, 0, sum(r.count)
      from (select *, lead(first_at, 1, 'infinity') over w as next_at, lead(first_id, 1, first_id) over w as next_id
            from ${table} where kind = ''
            window w as (partition by customer_id, advertiser_id order by first_at, first_id)) b,
        lateral (select ${kinds} as kinds, count(*) as count from ${rows} r
          where r.customer_id = b.customer_id ${lists === 'account' ? '' : 'and r.advertiser_id = b.advertiser_id'}
            and (r.${at}, r.id) >= (b.first_at, b.first_id) and (r.${at}, r.id) < (b.next_at, b.next_id)
            ${listedSql(blocks)} group by 1) r,
        unnest(r.kinds || ''::text) as k(kind)
      group by 1, 2, 3, 4, 5
      union all
      select r.customer_id, ${lists === 'account' ? '0' : 'r.advertiser_id'}, '-infinity', '${NO_ID[idType]}'::${idType}, k.kind,
        false, 0, count(*)
      from ${rows} r, unnest(${kinds} || ''::text) as k(kind)
      where not exists (select from ${table} b where b.customer_id = r.customer_id
        and b.advertiser_id = ${lists === 'account' ? '0' : 'r.advertiser_id'} and b.kind = '')
        ${listedSql(blocks)}
      group by 1, 2, 5
    ) sides group by 1, 2, 3, 4, 5, 6
  ) judged group by 1, 2, 3 having sum(kept) <> 0 or count(*) filter (where kept <> found) > 0`;
};
