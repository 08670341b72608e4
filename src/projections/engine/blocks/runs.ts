import type { ClientBase, QueryResult } from 'pg';
import { RUN } from '../../../shared/read-your-writes/kept-blocks.ts';
import {
  KEY,
  NO_ID,
  ofBlocks,
  openBlocksOf,
  placeOf,
  RUN_KIND,
  runBlocksOf,
  type Block,
  type Counted,
  type List,
  type ListBlocks,
} from './list-blocks.ts';

/** Lists that are looked at by one statement for whether they have blocks for runs: some 20 us each. */
const LISTS_AT_ONCE = 5_000;

/** A run that has grown large, because rows came that are older than others, is made into several. */
export const cutRun = async (client: ClientBase, blocks: ListBlocks, run: Block): Promise<void> => {
  const { rowCount } = await client.query({
    name: `${blocks.table}-uncut-run`,
    text: `delete from ${blocks.table}
           where customer_id = $1 and advertiser_id = $2 and first_at = $3 and first_id = $4 and ${RUN_KIND}`,
    values: [...placeOf(run)],
  });
  // It may have become one with the next meanwhile.
  if (rowCount === 0) return;
  await client.query({ name: `${blocks.table}-runs`, text: runsSql(blocks), values: [...placeOf(run)] });
};

/** Blocks that have come to the end of lists become runs where they are enough. */
export const endRuns = async (
  client: ClientBase,
  blocks: ListBlocks,
  lists: readonly (readonly [customerId: number, advertiserId: number])[],
): Promise<void> => {
  for (const list of new Map(lists.map((one) => [one.join('/'), one])).values()) {
    await client.query({
      name: `${blocks.table}-runs`,
      text: runsSql(blocks),
      values: [...list, null, null],
    });
  }
};

/**
 * SQL that makes runs of the blocks that are in none before a place ($3, $4), where the last of them ends; or without one before
 * the end of the list, where the last ones stay in none.
 */
const runsSql = (blocks: ListBlocks): string => {
  const { table, idType } = blocks;
  const [length, open] = [runBlocksOf(blocks), openBlocksOf(blocks)];
  return `
  with before as materialized (
    select first_at, first_id from ${table} where customer_id = $1 and advertiser_id = $2 and kind = '${RUN}'
      and (first_at, first_id) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::${idType}, '${NO_ID[idType]}'))
    order by first_at desc, first_id desc limit 1
  ), numbered as materialized (
    select first_at, first_id, kind, count, dense_rank() over (order by first_at, first_id) - 1 as n
    from ${table} where customer_id = $1 and advertiser_id = $2 and ${ofBlocks('kind')}
      and (first_at, first_id) >= (coalesce((select first_at from before), '-infinity'),
        coalesce((select first_id from before), '${NO_ID[idType]}'))
      and (first_at, first_id) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::${idType}, '${NO_ID[idType]}'))
  ), ends as (
    select n / ${length} - 1 as run, first_at, first_id from numbered where kind = '' and n % ${length} = 0
      and ($3::timestamptz is not null or n + ${open} <= (select max(n) + 1 from numbered))
  )
  insert into ${table} (${KEY}, count)
  select $1, $2, coalesce(e.first_at, $3::timestamptz), coalesce(e.first_id, $4::${idType}), '${RUN}' || n.kind, sum(n.count)
  from numbered n left join ends e on e.run = n.n / ${length}
  where e.run is not null or $3::timestamptz is not null
  group by 3, 4, 5`;
};

/**
 * A run becomes one with the next, unless together they would have more rows than that; the last one is none any more.
 * @returns what they are together; undefined where nothing has become one
 */
export const joinRun = async (
  client: ClientBase,
  { table, idType }: ListBlocks,
  run: Block,
  rowsMax?: number,
): Promise<Counted | undefined> => {
  const { rows } = await client.query<Counted>({
    name: `${table}-join-run`,
    text: `
      with next as materialized (
        select first_at, first_id, count from ${table} where customer_id = $1 and advertiser_id = $2 and kind = '${RUN}'
          and (first_at, first_id) > ($3::timestamptz, $4::${idType})
        order by first_at, first_id limit 1
      ), gone as (
        delete from ${table} b
        where customer_id = $1 and advertiser_id = $2 and first_at = $3::timestamptz and first_id = $4::${idType} and ${RUN_KIND}
          and ($5::bigint is null or coalesce((select count from next), 0) + (
            select count from ${table} where customer_id = $1 and advertiser_id = $2 and first_at = $3::timestamptz
              and first_id = $4::${idType} and kind = '${RUN}') <= $5::bigint)
        returning kind, count
      )
      insert into ${table} as b (${KEY}, count)
      select $1, $2, next.first_at, next.first_id, gone.kind, gone.count from gone, next
      on conflict (${KEY}) do update set count = b.count + excluded.count
      returning customer_id, advertiser_id, first_at::text, first_id, kind, count`,
    values: [...placeOf(run), rowsMax ?? null],
  });
  return rows.find(({ kind }) => kind === RUN);
};

interface LookedAt extends List {
  readonly isLong: boolean;
}

/**
 * Makes the runs of blocks of which there are none, in the transaction of `client`, in which nobody else writes them. Most
 * lists have too few blocks for one: they are passed over, so many by one statement as its time is enough for.
 */
export const fillRuns = async (client: ClientBase, blocks: ListBlocks): Promise<void> => {
  const { table } = blocks;
  const after = (customerId: string, advertiserId: string): string =>
    `select customer_id, advertiser_id from ${table}
     where (customer_id, advertiser_id) > (${customerId}, ${advertiserId}) order by 1, 2 limit 1`;
  for (let last: readonly unknown[] | undefined = [-1, 0]; last !== undefined;) {
    const { rows }: QueryResult<LookedAt> = await client.query<LookedAt>({
      name: `${table}-lists`,
      text: `
        with recursive lists (customer_id, advertiser_id) as (
          (${after('$1::bigint', '$2::int')})
          union all
          select next.* from lists l, lateral (${after('l.customer_id', 'l.advertiser_id')}) next
        )
        select l.customer_id, l.advertiser_id, exists (
          select from ${table} b where b.customer_id = l.customer_id and b.advertiser_id = l.advertiser_id and b.kind = ''
          offset ${runBlocksOf(blocks)}) as "isLong"
        from lists l limit ${LISTS_AT_ONCE}`,
      values: [...last],
    });
    const long = rows.filter(({ isLong }) => isLong);
    await endRuns(
      client,
      blocks,
      long.map(({ customer_id, advertiser_id }) => [Number(customer_id), advertiser_id]),
    );
    const end: LookedAt | undefined = rows.length < LISTS_AT_ONCE ? undefined : rows.at(-1);
    last = end && [end.customer_id, end.advertiser_id];
  }
};
