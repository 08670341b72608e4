import { blocksAtSql } from '../../shared/read-your-writes/kept-blocks.ts';

/** SQL expressions of a page; each may be a parameter. */
export interface PageSql {
  readonly table: string;
  /** Conditions that an index of the table answers, with the list's order behind them. */
  readonly where: string;
  /** Column that the list is ordered by, and `id` behind it. Default `created_at`. */
  readonly at?: 'created_at' | 'updated_at';
  readonly take: string;
  readonly skip: string;
  /** How many rows fit the conditions. */
  readonly total: string;
  /** Default: a page in the middle is counted up to. */
  readonly blocks?: PageBlocks;
}

/** The counted blocks of a list, as its projection keeps them (docs/records/0010-list-blocks.md). */
export interface PageBlocks {
  readonly table: string;
  /** SQL: whose list it is, 0 for the account's. */
  readonly advertiserId: string;
  /** SQL of the kind that the conditions name. */
  readonly kind?: string;
  /** SQL of a select of the kinds that they name, instead. */
  readonly kinds?: string;
  /** SQL of the name of the projection that keeps them. */
  readonly projection: string;
  /** An id that none comes before, as SQL's text. */
  readonly noId: string;
  /** Nearer to an end than so many rows a page is counted up to. Default `COUNTED_MAX`. */
  readonly countedMax?: number;
}

/** Before every id that is a UUID. */
export const NO_UUID = `uuid '00000000-0000-0000-0000-000000000000'`;

/**
 * No page has more. Said in so many words it keeps the planner from expecting a part of the list that grows with it: then it
 * would take the plan for any page to be dearer than one for this very page, and make a new one each time, which
 * takes longer than all the rest.
 */
const TAKE_MAX = 1_000;

/** About what finding the block of a page costs, too. */
const COUNTED_MAX = 1_000;

/**
 * SQL of the ids of one page, newest first, counted from the end of the list that is nearer: of the two scans one has a
 * limit of 0 and does nothing. So the last pages cost what the first ones do. Further in, whole blocks are added up from
 * that end, and it is counted within one, from its nearer end. Without blocks the cost grows towards the middle of the list,
 * where it is that of half an index scan (docs/performance.md).
 */
export const pageKeysSql = ({ table, where, at = 'created_at', blocks, ...page }: PageSql): string => {
  const [take, skip, total] = [`${page.take}::bigint`, `${page.skip}::bigint`, `${page.total}::bigint`];
  const returned = `least(${take}, greatest(${total} - ${skip}, 0))`;
  const isNearStart = `${skip} <= ${total} / 2`;
  const behind = `greatest(${total} - ${skip} - ${take}, 0)`;
  if (blocks === undefined) {
    return `
    select id from ((select id from ${table} where ${where} order by ${at} desc, id desc
     limit case when ${isNearStart} then ${returned} else 0 end offset ${skip})
    union all
    (select id from ${table} where ${where} order by ${at}, id
     limit case when ${isNearStart} then 0 else ${returned} end offset ${behind})) page limit ${TAKE_MAX}`;
  }
  return `
    select id from (with start as materialized (
      ${pageStartSql(blocks, { from: 'newest', skip, condition: isNearStart, returned })}
      union all
      ${pageStartSql(blocks, { from: 'oldest', skip: behind, condition: `not (${isNearStart})`, returned })})
    (select found.id from start s, lateral (
       select id from ${table} where ${where} and (${at}, id) < (s.at, s.id) order by ${at} desc, id desc
       limit case when s.older then ${returned} else 0 end offset s.rest) found)
    union all
    (select found.id from start s, lateral (
       select id from ${table} where ${where} and (${at}, id) >= (s.at, s.id) order by ${at}, id
       limit case when s.older then 0 else ${returned} end offset s.rest) found)) page limit ${TAKE_MAX}`;
};

interface PageStart {
  /** The end of the list that rows are passed over from. */
  readonly from: 'newest' | 'oldest';
  /** SQL: how many rows are passed over in all. */
  readonly skip: string;
  /** SQL: without it there is no row. */
  readonly condition: string;
  /** SQL: how many rows the page has; absent: the page is always sought on from `from`. */
  readonly returned?: string;
}

/**
 * SQL of where a page's rows are counted from, and how many of them are passed over there (`at`, `id`, `rest`): one row, or
 * none unless the condition holds. With `older` the page is before that place, newest rows first, else it begins there or
 * behind, oldest first: on from the same end as the list, or back from the other end of the block where that is nearer and
 * the whole page is in the block. Blocks that were not written with all rows (`blocks_at`) are not used.
 */
export const pageStartSql = (
  { table, advertiserId, kind, kinds, projection, noId, countedMax = COUNTED_MAX }: PageBlocks,
  { from, skip, condition, returned }: PageStart,
): string => {
  const isFar = `(${skip} > ${countedMax} and coalesce((select c.blocks_at = ${blocksAtSql({ position: 'c.position', epoch: 'c.epoch' })}
    from projection_checkpoints c where c.name = ${projection}), false))`;
  const mine = `customer_id = $1 and advertiser_id = ${advertiserId}`;
  const counts =
    kinds === undefined
      ? `select first_at, first_id, count::int as count from ${table} where ${mine} and kind = ${kind ?? `''`}`
      : `select first_at, first_id, sum(count)::int as count from ${table}
         where ${mine} and kind = any(array(${kinds})) group by 1, 2`;
  const isNewest = from === 'newest';
  const order = isNewest ? 'first_at desc, first_id desc' : 'first_at, first_id';
  // The place where the block ends is where the next newer one begins.
  const newer = isNewest ? 'lag' : 'lead';
  const [first, end] = [
    ['first_at', 'first_id'],
    ['end_at', 'end_id'],
  ] as const;
  const [here, there] = isNewest ? [end, first] : [first, end];
  const back = returned === undefined ? 'false' : `(b.count - b.rest - ${returned} between 0 and b.rest - 1)`;
  const rest =
    returned === undefined
      ? 'b.rest'
      : `case when ${back} then b.count - b.rest - ${returned} else b.rest end`;
  return `
      (select '${isNewest ? 'infinity' : '-infinity'}'::timestamptz as at, ${noId} as id, ${skip} as rest, ${isNewest} as older
       where (${condition}) and not ${isFar})
      union all
      (select case when ${back} then ${there[0]} else ${here[0]} end, case when ${back} then ${there[1]} else ${here[1]} end,
         ${rest}, ${isNewest} <> ${back}
       from (select first_at, first_id, count, ${skip} - (upto - count) as rest, end_at, end_id
             from (select first_at, first_id, count, sum(count) over w as upto,
                     ${newer}(first_at, 1, 'infinity') over w as end_at, ${newer}(first_id, 1, first_id) over w as end_id
                   from (${counts}) b window w as (order by ${order} rows unbounded preceding)) b
             where upto > ${skip} order by ${order}
             limit case when (${condition}) and ${isFar} then 1 else 0 end) b)`;
};
