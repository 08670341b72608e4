import type { ClientBase, QueryResult } from 'pg';
import { boolArray, int4Array, int8Array, textArray, uuidArray } from '../../shared/postgres/binary-array.ts';
import type { Comparison } from './comparison.ts';

/**
 * A list in counted blocks (docs/records/0010-list-blocks.md): of each run of rows in the list's order it is kept how many
 * there are, in all and of each kind, so that a page anywhere is found by adding up blocks and counting within one.
 */
export interface ListBlocks {
  /** Columns `customer_id`, `advertiser_id`, `first_at`, `first_id`, `kind`, `count`. */
  readonly table: string;
  /** The table of the rows; an index of it has the list's columns, `at` and `id`, in this order. */
  readonly rows: string;
  /** SQL, of a row `r`: whether it is in a list; the index has no others. Default: all are. */
  readonly where?: string;
  /** Whose lists there are; those of an account are kept under `advertiser_id` 0. */
  readonly lists: 'account' | 'advertiser';
  /** Column that the list is ordered by, and `id` behind it. */
  readonly at: 'created_at' | 'updated_at';
  readonly idType: 'integer' | 'uuid';
  /** SQL, of a row `r`: array of the kinds that it is counted under besides all; none has a comma in it. */
  readonly kinds: string;
  /** A block with more rows is cut into pieces of half as many. Default `BLOCK_ROWS_MAX`. */
  readonly rowsMax?: number;
}

/** A row that has come into a list, or has gone from it. */
export interface BlockChange {
  readonly customerId: number;
  /** 0: the account's list. */
  readonly advertiserId: number;
  /** RFC 3339, as the row's column has it. */
  readonly at: string;
  readonly id: number | string;
  /** As `ListBlocks.kinds` says. */
  readonly kinds: readonly string[];
  readonly change: 1 | -1;
}

/**
 * A quarter of it is what a page counts within a block, about; half of it is what a block's row stands for. Of a million rows both
 * take the same time: to add up a block's row takes as long as to count some eight entries of an index.
 */
const BLOCK_ROWS_MAX = 4_096;
/** Rows that are counted into blocks by one statement while they are made of a whole table. */
const FILLED_AT_ONCE = 16_384;
const DELETED_AT_ONCE = 20_000;
/** A batch of no more than this part of a block looks for the block of each change: another question would cost more. */
const LOOKED_UP_PART = 64;

const NO_ID = { integer: '0', uuid: '00000000-0000-0000-0000-000000000000' } as const;

const listedSql = ({ where }: ListBlocks): string => (where === undefined ? '' : `and ${where}`);
const rowsMaxOf = ({ rowsMax = BLOCK_ROWS_MAX }: ListBlocks): number => rowsMax;
const pieceOf = (blocks: ListBlocks): number => rowsMaxOf(blocks) / 2;
/** A block that is no larger is joined with the one before it. */
const smallOf = (blocks: ListBlocks): number => rowsMaxOf(blocks) / 4;

interface Block {
  readonly customer_id: string;
  readonly advertiser_id: number;
  readonly first_at: string;
  readonly first_id: number | string;
}

interface Counted extends Block {
  readonly kind: string;
  readonly count: string;
}

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
};

/** A change that may be one of several rows. */
interface Net extends Omit<BlockChange, 'change'> {
  readonly change: number;
}

/** What is to be added to blocks. */
interface Delta extends Net {
  /** Its place is where its block begins; otherwise the block is looked for. */
  readonly isBeginning: boolean;
}

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

const idArray = ({ idType }: ListBlocks, ids: readonly (number | string)[]): Buffer =>
  idType === 'integer' ? int4Array(ids as readonly number[]) : uuidArray(ids as readonly string[]);

const KEY = 'customer_id, advertiser_id, first_at, first_id, kind';

/** Changes of one list, in its order. */
interface ListChanges {
  readonly customerId: number;
  readonly advertiserId: number;
  readonly changes: readonly PlacedNet[];
}

/** A place in a list's order. */
interface InList {
  /** Since 1970; -Infinity before everything. */
  readonly atMicros: number;
  readonly id: number | string;
}

type PlacedNet = Net & InList;

/** A block that there is, or one that is to begin. */
interface Beginning extends InList {
  /** As `BlockChange.at`, or as Postgres prints it. */
  readonly at: string;
}

/** The last block of a list. */
interface LastBlock extends Beginning {
  readonly count: number;
}

const noBlock = ({ idType }: ListBlocks): LastBlock => ({
  at: '-infinity',
  atMicros: -Infinity,
  id: NO_ID[idType],
  count: 0,
});

/**
 * New rows come to the end of their list, so most changes are there: its last block is looked up once, and what belongs
 * to it is added up here. Where that would be too large, new ones begin among the new rows: nothing is counted again.
 * @returns what is left to be added: sums that know their block, and changes that have to look for theirs
 */
const summedAtEnds = async (
  client: ClientBase,
  blocks: ListBlocks,
  changes: readonly Net[],
): Promise<readonly Delta[]> => {
  if (changes.length <= rowsMaxOf(blocks) / LOOKED_UP_PART) {
    return changes.map((one) => ({ ...one, isBeginning: false }));
  }
  const lists = listsOf(changes);
  const lasts = await lastBlocks(client, blocks, lists);
  const deltas: Delta[] = [];
  for (const [n, list] of lists.entries()) {
    const last = lasts[n] ?? noBlock(blocks);
    const first = list.changes.findIndex((one) => inOrder(one, last) >= 0);
    const before = first === -1 ? list.changes : list.changes.slice(0, first);
    deltas.push(...before.map((one) => ({ ...one, isBeginning: false })));
    if (first === -1) continue;
    deltas.push(
      ...(await summedAtEnd(client, blocks, last, { ...list, changes: list.changes.slice(first) })),
    );
  }
  return deltas;
};

const listsOf = (changes: readonly Net[]): readonly ListChanges[] => {
  const lists = new Map<string, ListChanges & { readonly changes: PlacedNet[] }>();
  for (const one of changes) {
    const { customerId, advertiserId } = one;
    const key = `${customerId}/${advertiserId}`;
    let list = lists.get(key);
    if (list === undefined) lists.set(key, (list = { customerId, advertiserId, changes: [] }));
    const { at, id, kinds, change } = one;
    list.changes.push({ customerId, advertiserId, at, id, kinds, change, atMicros: microsOf(at) });
  }
  for (const { changes: own } of lists.values()) own.sort(inOrder);
  return [...lists.values()];
};

/** As Postgres compares: integers by their value, UUIDs by their digits. */
const inOrder = (a: InList, b: InList): number =>
  a.atMicros === b.atMicros ? (a.id < b.id ? -1 : a.id > b.id ? 1 : 0) : a.atMicros - b.atMicros;

/** Of a time in milliseconds, in UTC. */
const MILLIS_LENGTH = '2026-01-01T00:00:00.000Z'.length;
const BEYOND_MILLIS = /\.\d{3}(\d{1,3})/;

/** @param at RFC 3339, of which Postgres keeps as much */
const microsOf = (at: string): number => {
  const millis = Date.parse(at) * 1_000;
  return at.length <= MILLIS_LENGTH
    ? millis
    : millis + Number((BEYOND_MILLIS.exec(at)?.[1] ?? '').padEnd(3, '0'));
};

const MICROS = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint`;

/** @returns in the order of `lists`; undefined for one that has no block yet */
const lastBlocks = async (
  client: ClientBase,
  { table }: ListBlocks,
  lists: readonly ListChanges[],
): Promise<readonly (LastBlock | undefined)[]> => {
  const { rows } = await client.query<{
    n: string;
    at: string;
    id: number | string;
    micros: string | null;
    count: string;
  }>({
    name: `${table}-last`,
    text: `
      select n.n, b.first_at::text as at, b.first_id as id, b.count,
        case when b.first_at > '-infinity' then ${MICROS('b.first_at')} end as micros
      from unnest($1::bigint[], $2::int[]) with ordinality as n(customer_id, advertiser_id, n), lateral (
        select first_at, first_id, count from ${table} b
        where b.customer_id = n.customer_id and b.advertiser_id = n.advertiser_id and b.kind = ''
        order by b.first_at desc, b.first_id desc limit 1) b`,
    values: [
      int8Array(lists.map(({ customerId }) => customerId)),
      int4Array(lists.map(({ advertiserId }) => advertiserId)),
    ],
  });
  const lasts: LastBlock[] = [];
  for (const { n, at, id, micros, count } of rows) {
    const atMicros = micros === null ? -Infinity : Number(micros);
    lasts[Number(n) - 1] = { at, id, atMicros, count: Number(count) };
  }
  return lasts;
};

/** @param list its changes that are not before `last` */
const summedAtEnd = async (
  client: ClientBase,
  blocks: ListBlocks,
  last: LastBlock,
  list: ListChanges,
): Promise<readonly Delta[]> => {
  const { changes } = list;
  const [max, piece] = [rowsMaxOf(blocks), pieceOf(blocks)];
  const isPossible =
    last.count + changes.length > max &&
    changes.length > smallOf(blocks) &&
    changes.every(({ change }) => change === 1) &&
    (await isWholeEnd(client, blocks, list));
  if (!isPossible) return sumsOf(list, last, changes);
  // The last block becomes half full if it is not, and so does each new one; the last of them takes what one may have.
  const room = Math.max(0, piece - last.count);
  const deltas = [...sumsOf(list, last, changes.slice(0, room))];
  for (let from = room; from < changes.length;) {
    const left = changes.slice(from);
    const own = left.length > max ? left.slice(0, piece) : left;
    deltas.push(...sumsOf(list, own[0] as PlacedNet, own));
    from += own.length;
  }
  return deltas;
};

/** Whether rows that have come are the last ones of their list, and no other is among them: which is so of new rows. */
const isWholeEnd = async (
  client: ClientBase,
  blocks: ListBlocks,
  { customerId, advertiserId, changes }: ListChanges,
): Promise<boolean> => {
  const { table, rows: from, at, lists } = blocks;
  const { rows } = await client.query<{ micros: string; id: number | string }>({
    name: `${table}-end`,
    text: `
      select ${MICROS(`r.${at}`)} as micros, r.id from ${from} r
      where r.customer_id = $1 and ${lists === 'account' ? '$2::int = 0' : 'r.advertiser_id = $2'} ${listedSql(blocks)}
      order by r.${at} desc, r.id desc offset $3::bigint limit 1`,
    values: [customerId, advertiserId, changes.length],
  });
  const [before] = rows;
  const [first] = changes;
  if (before === undefined || first === undefined) return true;
  return inOrder({ atMicros: Number(before.micros), id: before.id }, first) < 0;
};

/** What changes that are all of one block add up to, by their kinds. */
const sumsOf = (
  { customerId, advertiserId }: ListChanges,
  { at, id }: Beginning,
  changes: readonly Net[],
): readonly Delta[] => {
  const sums = new Map<string, { readonly kinds: readonly string[]; change: number }>();
  for (const { kinds, change } of changes) {
    const key = kinds.join(',');
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { kinds, change });
    else known.change += change;
  }
  return [...sums.values()].map((sum) => ({ customerId, advertiserId, at, id, ...sum, isBeginning: true }));
};

/**
 * A row is in the block with the last beginning that is not behind it. The first block of a list begins before
 * everything, so there is one for each row. Told are the blocks that something is to be done about.
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
      c.kinds, sum(c.change) as change
    from changes c left join lateral (
      select first_at, first_id from ${blocks.table} b
      where not c.is_beginning and b.customer_id = c.customer_id and b.advertiser_id = c.advertiser_id and b.kind = ''
        and (b.first_at, b.first_id) <= (c.at, c.id)
      order by b.first_at desc, b.first_id desc limit 1) b on true
    group by 1, 2, 3, 4, 5
  ), added as (
    insert into ${blocks.table} as b (${KEY}, count)
    select p.customer_id, p.advertiser_id, p.first_at, p.first_id, k.kind collate "C", sum(p.change)::bigint
    from placed p, unnest(string_to_array(p.kinds, ',') || ''::text) as k(kind)
    group by 1, 2, 3, 4, 5 having sum(p.change) <> 0
    order by 1, 2, 3, 4, 5
    on conflict (${KEY}) do update set count = b.count + excluded.count
    returning *
  )
  select customer_id, advertiser_id, first_at::text, first_id, kind, count from added
  where count = 0 or kind = '' and (count > ${rowsMaxOf(blocks)}
    or count <= ${smallOf(blocks)} and first_at > '-infinity')
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
};

const placeOf = ({ customer_id, advertiser_id, first_at, first_id }: Block): readonly unknown[] => [
  customer_id,
  advertiser_id,
  first_at,
  first_id,
];

/** Its rows are counted again: into blocks of half the size, and one of what is left over, which is the last. */
const cutBlock = async (client: ClientBase, blocks: ListBlocks, block: Block): Promise<void> => {
  await client.query({
    name: `${blocks.table}-uncut`,
    text: `delete from ${blocks.table}
           where customer_id = $1 and advertiser_id = $2 and first_at = $3 and first_id = $4`,
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
const cutSql = (blocks: ListBlocks, from: '>' | '>='): string => {
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

/** A small block goes into the one before it, unless together they would be a large one. */
const joinBlock = async (client: ClientBase, blocks: ListBlocks, block: Block): Promise<void> => {
  const { table, idType } = blocks;
  await client.query({
    name: `${table}-join`,
    text: `
      with block as (
        select count from ${table} where customer_id = $1 and advertiser_id = $2 and kind = ''
          and first_at = $3::timestamptz and first_id = $4::${idType} and count <= ${smallOf(blocks)}
      ), before as (
        select first_at, first_id from (
          select first_at, first_id, count from ${table} where customer_id = $1 and advertiser_id = $2 and kind = ''
            and (first_at, first_id) < ($3::timestamptz, $4::${idType})
          order by first_at desc, first_id desc limit 1) b
        where b.count + (select count from block) <= ${rowsMaxOf(blocks)}
      ), gone as (
        delete from ${table} b using before
        where b.customer_id = $1 and b.advertiser_id = $2 and b.first_at = $3::timestamptz
          and b.first_id = $4::${idType}
        returning b.kind, b.count
      )
      insert into ${table} as b (${KEY}, count)
      select $1, $2, before.first_at, before.first_id, gone.kind, gone.count from gone, before
      on conflict (${KEY}) do update set count = b.count + excluded.count`,
    values: [...placeOf(block)],
  });
};

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
  const next = async (
    after: readonly unknown[],
  ): Promise<Pick<Block, 'customer_id' | 'advertiser_id'> | undefined> =>
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
    for (let from: '>' | '>=' = '>='; ; from = '>') {
      const { rows } = await client.query<Counted>({
        name: `${blocks.table}-fill${from}`,
        text: cutSql(blocks, from),
        values: [...of, ...place, FILLED_AT_ONCE],
      });
      const [last] = rows;
      if (last === undefined || Number(last.count) < FILLED_AT_ONCE) break;
      place = [last.first_at, last.first_id];
    }
    list = await next(of);
  }
};

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
 * SQL of the sum of each kind of each list, and how many of its blocks have not as many rows as they say (`astray`); a list
 * without blocks is one that says none.
 */
export const judgeBlocksSql = (blocks: ListBlocks, table: string, rows: string): string => {
  const { at, lists, kinds, idType } = blocks;
  return `
  select customer_id, advertiser_id, kind, sum(kept)::bigint as count, count(*) filter (where kept <> found) as astray
  from (
    select customer_id, advertiser_id, first_at, first_id, kind, sum(kept) as kept, sum(found) as found
    from (
      select customer_id, advertiser_id, first_at, first_id, kind, count as kept, 0 as found from ${table}
      union all
      select b.customer_id, b.advertiser_id, b.first_at, b.first_id, k.kind, 0, sum(r.count)
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
        0, count(*)
      from ${rows} r, unnest(${kinds} || ''::text) as k(kind)
      where not exists (select from ${table} b where b.customer_id = r.customer_id
        and b.advertiser_id = ${lists === 'account' ? '0' : 'r.advertiser_id'} and b.kind = '')
        ${listedSql(blocks)}
      group by 1, 2, 5
    ) sides group by 1, 2, 3, 4, 5
  ) judged group by 1, 2, 3 having sum(kept) <> 0 or count(*) filter (where kept <> found) > 0`;
};
