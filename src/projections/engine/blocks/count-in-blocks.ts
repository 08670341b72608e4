import type { ClientBase } from 'pg';
import { boolArray, int4Array, int8Array, textArray } from '../../../shared/postgres/binary-array.ts';
import { RUN } from '../../../shared/read-your-writes/kept-blocks.ts';
import { cutBlock } from './cut-block.ts';
import {
  idArray,
  KEY,
  NO_ID,
  ofBlocks,
  placeOf,
  rowsMaxOf,
  runRowsJoinedOf,
  runRowsMaxOf,
  smallOf,
  smallRunOf,
  type Block,
  type BlockChange,
  type Counted,
  type ListBlocks,
} from './list-blocks.ts';
import { cutRun, endRuns, joinRun } from './runs.ts';
import { summedAtEnds, type Net } from './sums-at-ends.ts';

/**
 * Counts what has changed, in the transaction that the rows were written in, behind them. In a fixed order, so that
 * two writers can never wait for each other.
 */
export const countInBlocks = async (
  client: ClientBase,
  blocks: ListBlocks,
  changes: readonly BlockChange[],
): Promise<void> => {
  const net = netOf(changes);
  if (net.length === 0) return;
  const deltas = await summedAtEnds(client, blocks, net);
  const { rows } = await client.query<Counted>({
    name: `${blocks.table}-add`,
    text: addSql(blocks),
    values: [
      int8Array(deltas.map(({ customerId }) => customerId)),
      int4Array(deltas.map(({ advertiserId }) => advertiserId)),
      textArray(deltas.map(({ at }) => at)),
      idArray(
        blocks,
        deltas.map(({ id }) => id),
      ),
      textArray(deltas.map(({ kinds }) => kinds.join(','))),
      int8Array(deltas.map(({ change }) => change)),
      boolArray(deltas.map(({ isBeginning }) => isBeginning)),
    ],
  });
  await dropEmpty(
    client,
    blocks,
    rows.filter(({ count }) => count === '0'),
  );
  for (const row of rows.filter(({ kind, count }) => kind === '' && count !== '0').toReversed()) {
    if (Number(row.count) > rowsMaxOf(blocks)) await cutBlock(client, blocks, row);
    else await joinBlock(client, blocks, row);
  }
  for (const row of rows.filter(({ kind, count }) => kind === RUN && count !== '0')) {
    if (Number(row.count) > runRowsMaxOf(blocks)) await cutRun(client, blocks, row);
    else await joinRun(client, blocks, row, runRowsJoinedOf(blocks));
  }
  await endRuns(client, blocks, [
    ...deltas
      .filter(({ isNew }) => isNew)
      .map(({ customerId, advertiserId }) => [customerId, advertiserId] as const),
    ...rows
      .filter(({ kind, count }) => kind === '' && Number(count) > rowsMaxOf(blocks))
      .map(({ customer_id, advertiser_id }) => [Number(customer_id), advertiser_id] as const),
  ]);
};

/** What is left of changes that cancel each other: a row that has neither moved nor changed its kinds. */
const netOf = (changes: readonly BlockChange[]): readonly Net[] => {
  if (changes.every(({ change }) => change === 1)) return changes;
  const sums = new Map<string, Net & { change: number }>();
  for (const one of changes) {
    const key = `${one.customerId}/${one.advertiserId}/${one.at}/${one.id}/${one.kinds.join(',')}`;
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { ...one });
    else known.change += one.change;
  }
  return [...sums.values()].filter(({ change }) => change !== 0);
};

/**
 * A row is in the block with the last beginning that is not behind it. The first block of a list begins before
 * everything, so there is one for each row. A run is kept where it ends, so a block is in the first one that is behind its
 * beginning; those at the end of the list, where new rows come, are in none. Told are the blocks and the runs that something is
 * to be done about.
 */
const addSql = (blocks: ListBlocks): string => `
  with changes as materialized (
    select customer_id, advertiser_id, at::timestamptz as at, id, kinds, change, is_beginning
    from unnest($1::bigint[], $2::int[], $3::text[], $4::${blocks.idType}[], $5::text[], $6::bigint[], $7::boolean[])
      as n(customer_id, advertiser_id, at, id, kinds, change, is_beginning)
  ), placed as materialized (
    select c.customer_id, c.advertiser_id,
      case when c.is_beginning then c.at else coalesce(b.first_at, '-infinity') end as first_at,
      case when c.is_beginning then c.id else coalesce(b.first_id, '${NO_ID[blocks.idType]}') end as first_id,
      c.is_beginning, c.kinds, sum(c.change) as change
    from changes c left join lateral (
      select first_at, first_id from ${blocks.table} b
      where not c.is_beginning and b.customer_id = c.customer_id and b.advertiser_id = c.advertiser_id and b.kind = ''
        and (b.first_at, b.first_id) <= (c.at, c.id)
      order by b.first_at desc, b.first_id desc limit 1) b on true
    group by 1, 2, 3, 4, 5, 6
  ), counted as (
    select customer_id, advertiser_id, first_at, first_id, '' as level, kinds, change from placed
    union all
    select p.customer_id, p.advertiser_id, r.first_at, r.first_id, '${RUN}', p.kinds, p.change
    from placed p, lateral (
      select first_at, first_id from ${blocks.table} r
      where not p.is_beginning and r.customer_id = p.customer_id and r.advertiser_id = p.advertiser_id and r.kind = '${RUN}'
        and (r.first_at, r.first_id) > (p.first_at, p.first_id)
      order by r.first_at, r.first_id limit 1) r
  ), added as (
    insert into ${blocks.table} as b (${KEY}, count)
    select c.customer_id, c.advertiser_id, c.first_at, c.first_id, (c.level || k.kind) collate "C", sum(c.change)::bigint
    from counted c, unnest(string_to_array(c.kinds, ',') || ''::text) as k(kind)
    group by 1, 2, 3, 4, 5 having sum(c.change) <> 0
    order by 1, 2, 3, 4, 5
    on conflict (${KEY}) do update set count = b.count + excluded.count
    returning *
  )
  select customer_id, advertiser_id, first_at::text, first_id, kind, count from added
  where count = 0 or kind = '' and (count > ${rowsMaxOf(blocks)}
    or count <= ${smallOf(blocks)} and first_at > '-infinity')
    or kind = '${RUN}' and (count > ${runRowsMaxOf(blocks)} or count <= ${smallRunOf(blocks)})
  order by 1, 2, added.first_at, 4`;

const dropEmpty = async (
  client: ClientBase,
  blocks: ListBlocks,
  empty: readonly Counted[],
): Promise<void> => {
  if (empty.length === 0) return;
  await client.query({
    name: `${blocks.table}-drop`,
    text: `delete from ${blocks.table} b
           using unnest($1::bigint[], $2::int[], $3::text[], $4::${blocks.idType}[], $5::text[])
             as e(customer_id, advertiser_id, first_at, first_id, kind)
           where b.customer_id = e.customer_id and b.advertiser_id = e.advertiser_id
             and b.first_at = e.first_at::timestamptz and b.first_id = e.first_id and b.kind = e.kind and b.count = 0`,
    values: [
      int8Array(empty.map(({ customer_id }) => Number(customer_id))),
      int4Array(empty.map(({ advertiser_id }) => advertiser_id)),
      textArray(empty.map(({ first_at }) => first_at)),
      idArray(
        blocks,
        empty.map(({ first_id }) => first_id),
      ),
      textArray(empty.map(({ kind }) => kind)),
    ],
  });
  // A run ends where a block begins: without that block it is one with the next.
  for (const block of empty.filter(({ kind }) => kind === '')) {
    const joined = await joinRun(client, blocks, block);
    if (joined !== undefined && Number(joined.count) > runRowsMaxOf(blocks)) {
      await cutRun(client, blocks, joined);
    }
  }
};

/** A small block goes into the one before it, unless together they would be a large one, or a run ends between them. */
const joinBlock = async (client: ClientBase, blocks: ListBlocks, block: Block): Promise<void> => {
  const { table, idType } = blocks;
  await client.query({
    name: `${table}-join`,
    text: `
      with block as (
        select count from ${table} where customer_id = $1 and advertiser_id = $2 and kind = ''
          and first_at = $3::timestamptz and first_id = $4::${idType} and count <= ${smallOf(blocks)}
          and not exists (select from ${table} where customer_id = $1 and advertiser_id = $2 and kind = '${RUN}'
            and first_at = $3::timestamptz and first_id = $4::${idType})
      ), before as (
        select first_at, first_id from (
          select first_at, first_id, count from ${table} where customer_id = $1 and advertiser_id = $2 and kind = ''
            and (first_at, first_id) < ($3::timestamptz, $4::${idType})
          order by first_at desc, first_id desc limit 1) b
        where b.count + (select count from block) <= ${rowsMaxOf(blocks)}
      ), gone as (
        delete from ${table} b using before
        where b.customer_id = $1 and b.advertiser_id = $2 and b.first_at = $3::timestamptz
          and b.first_id = $4::${idType} and ${ofBlocks('b.kind')}
        returning b.kind, b.count
      )
      insert into ${table} as b (${KEY}, count)
      select $1, $2, before.first_at, before.first_id, gone.kind, gone.count from gone, before
      on conflict (${KEY}) do update set count = b.count + excluded.count`,
    values: [...placeOf(block)],
  });
};
