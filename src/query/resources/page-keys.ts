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
 * that end, and it is counted within one. Without blocks the cost grows towards the middle of the list, where it is that of
 * half an index scan (docs/performance.md).
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
    select id from ((select found.id from (${pageStartSql(blocks, 'newest', skip, isNearStart)}) s, lateral (
       select id from ${table} where ${where} and (${at}, id) < (s.at, s.id) order by ${at} desc, id desc
       limit ${returned} offset s.rest) found)
    union all
    (select found.id from (${pageStartSql(blocks, 'oldest', behind, `not (${isNearStart})`)}) s, lateral (
       select id from ${table} where ${where} and (${at}, id) >= (s.at, s.id) order by ${at}, id
       limit ${returned} offset s.rest) found)) page limit ${TAKE_MAX}`;
};

/**
 * SQL of where a page's rows are counted from, and how many of them are passed over there (`at`, `id`, `rest`): one row, or
 * none unless the condition holds. From the newest rows on the page is before that place, from the oldest on it begins
 * there or behind. Blocks that were not written with all rows (`blocks_at`) are not used.
 * @param skip SQL: how many rows are passed over in all
 */
export const pageStartSql = (
  { table, advertiserId, kind, kinds, projection, noId, countedMax = COUNTED_MAX }: PageBlocks,
  from: 'newest' | 'oldest',
  skip: string,
  condition: string,
): string => {
  const isFar = `(${skip} > ${countedMax} and coalesce((select c.blocks_at = ${blocksAtSql({ position: 'c.position', epoch: 'c.epoch' })}
    from projection_checkpoints c where c.name = ${projection}), false))`;
  const mine = `customer_id = $1 and advertiser_id = ${advertiserId}`;
  const counts =
    kinds === undefined
      ? `select first_at, first_id, count::int as count from ${table} where ${mine} and kind = ${kind ?? `''`}`
      : `select first_at, first_id, sum(count)::int as count from ${table}
         where ${mine} and kind = any(array(${kinds})) group by 1, 2`;
  const order = from === 'newest' ? 'first_at desc, first_id desc' : 'first_at, first_id';
  const [end, at, id] =
    from === 'newest'
      ? ['infinity', `lag(first_at, 1, 'infinity') over w`, `lag(first_id, 1, first_id) over w`]
      : ['-infinity', 'first_at', 'first_id'];
  return `
      (select '${end}'::timestamptz as at, ${noId} as id, ${skip} as rest
       where (${condition}) and not ${isFar})
      union all
      (select at, id, ${skip} - (upto - count) as rest
       from (select ${at} as at, ${id} as id, count, first_at, first_id,
               sum(count) over w as upto
             from (${counts}) b window w as (order by ${order} rows unbounded preceding)) b
       where upto > ${skip} order by ${order}
       limit case when (${condition}) and ${isFar} then 1 else 0 end)`;
};
