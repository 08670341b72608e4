import { blocksAtSql, RUN } from '../../shared/read-your-writes/kept-blocks.ts';

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
  /** SQL of an id that none comes before, with which the first block begins. */
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
 * limit of 0 and does nothing. So the last pages cost what the first ones do. Further in, it is counted within one block,
 * from its nearer end. Without blocks the cost grows towards the middle of the list, where it is that of half an index scan
 * (docs/performance.md).
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
    select id from (with start as materialized (${pageStartSql(blocks, { skip, total, take })})
    (select found.id from start s, lateral (
       select id from ${table} where ${where} and (${at}, id) < (s.at, s.id) order by ${at} desc, id desc
       limit case when s.older then ${returned} else 0 end offset s.rest) found)
    union all
    (select found.id from start s, lateral (
       select id from ${table} where ${where} and (${at}, id) >= (s.at, s.id) order by ${at}, id
       limit case when s.older then 0 else ${returned} end offset s.rest) found)) page limit ${TAKE_MAX}`;
};

interface PageStart {
  /** SQL: how many newer rows are passed over. */
  readonly skip: string;
  /** SQL: how many rows the list has. */
  readonly total: string;
  /** SQL: how many rows a page may have; absent: the page is always sought on from newer rows to older ones. */
  readonly take?: string;
}

/**
 * SQL of where a page's rows are counted from, and how many of them are passed over there (`at`, `id`, `rest`): one row, or
 * none where no page is. With `older` the page is before that place, newest rows first, else it begins there or
 * behind, oldest first: from the nearer end of the list, or, further in than `countedMax`, of the block that has the page's oldest row.
 * Runs of blocks are added up to the one that has it, and then its blocks. Blocks that were not written with all
 * rows (`blocks_at`) are not used.
 */
export const pageStartSql = (
  { table, advertiserId, kind, kinds, projection, noId, countedMax = COUNTED_MAX }: PageBlocks,
  { skip, total, take }: PageStart,
): string => {
  // Rows are numbered from the oldest, 0; the page ends before `end`.
  const end = `(${total} - ${skip})`;
  const first = take === undefined ? `(${end} - 1)` : `greatest(${end} - ${take}, 0)`;
  const isNearStart = take === undefined ? 'true' : `${skip} <= ${total} / 2`;
  const isKept = `coalesce((select c.blocks_at = ${blocksAtSql({ position: 'c.position', epoch: 'c.epoch' })}
    from projection_checkpoints c where c.name = ${projection}), false)`;
  const passed = `case when ${isNearStart} then ${skip} else ${first} end`;
  const isFar = `(${passed} > ${countedMax} and ${isKept})`;
  const counts = (prefix: '' | typeof RUN, range = ''): string => {
    const mine = `from ${table} where customer_id = $1 and advertiser_id = ${advertiserId} ${range}`;
    return kinds === undefined
      ? `select first_at, first_id, count::int as count ${mine} and kind = '${prefix}' || ${kind ?? `''`}`
      : `select first_at, first_id, sum(count)::int as count ${mine}
           and kind = any(array(select '${prefix}' || k.kind from (${kinds}) k(kind))) group by 1, 2`;
  };
  const inRun = `and (first_at, first_id) >= ((select first_at from run), (select first_id from run))
           and (first_at, first_id) < ((select end_at from run), (select end_id from run))`;
  const isBack =
    take === undefined ? 'true' : `(${end} <= b.upto and b.upto - ${end} < ${first} - (b.upto - b.count))`;
  return `
      (select case when ${isNearStart} then 'infinity' else '-infinity' end::timestamptz as at, ${noId} as id,
         ${passed} as rest, ${isNearStart} as older
       where not ${isFar})
      union all
      (with run as materialized (
         select * from (
           select first_at, first_id, sum(count) over w as upto,
             lead(first_at, 1, 'infinity') over w as end_at, lead(first_id, 1, first_id) over w as end_id
           from (select '-infinity'::timestamptz as first_at, ${noId} as first_id, 0 as count
                 union all ${counts(RUN)}) r window w as (order by first_at, first_id rows unbounded preceding)) r
         where upto <= ${first} order by first_at desc, first_id desc limit 1)
       select case when ${isBack} then b.end_at else b.first_at end, case when ${isBack} then b.end_id else b.first_id end,
         case when ${isBack} then b.upto - ${end} else ${first} - (b.upto - b.count) end, ${isBack}
       from (select * from (
               select first_at, first_id, count, (select upto from run) + sum(count) over w as upto,
                 lead(first_at, 1, (select end_at from run)) over w as end_at,
                 lead(first_id, 1, (select end_id from run)) over w as end_id
               from (${counts('', inRun)}) b window w as (order by first_at, first_id rows unbounded preceding)) b
             where upto > ${first} order by first_at, first_id limit case when ${isFar} then 1 else 0 end) b)`;
};
