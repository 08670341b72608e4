import type { ClientBase } from 'pg';
import { int4Array, int8Array } from '../../../shared/postgres/binary-array.ts';
import {
  listedSql,
  NO_ID,
  pieceOf,
  rowsMaxOf,
  smallOf,
  type BlockChange,
  type ListBlocks,
} from './list-blocks.ts';

/** A batch of no more than this part of a block looks for the block of each change: another question would cost more. */
const LOOKED_UP_PART = 64;

/** A change that may be one of several rows. */
export interface Net extends Omit<BlockChange, 'change'> {
  readonly change: number;
}

/** What is to be added to blocks. */
interface Delta extends Net {
  /** Its place is where its block begins; otherwise the block is looked for. */
  readonly isBeginning: boolean;
  /** The block begins with it. */
  readonly isNew?: boolean;
}

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
export const summedAtEnds = async (
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
    deltas.push(...sumsOf(list, own[0] as PlacedNet, own).map((sum) => ({ ...sum, isNew: true })));
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
