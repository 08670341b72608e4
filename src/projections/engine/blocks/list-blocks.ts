import { int4Array, uuidArray } from '../../../shared/postgres/binary-array.ts';
import { RUN } from '../../../shared/read-your-writes/kept-blocks.ts';

/**
 * A list in counted blocks (docs/records/0010-list-blocks.md): of each run of rows in the list's order it is kept how many
 * there are, in all and of each kind, and the same of runs of blocks: so that a page anywhere is found by adding up runs, then
 * the blocks of one, and counting within one of them.
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
  /** SQL, of a row `r`: array of the kinds that it is counted under besides all; none has a comma in it, or begins with `RUN`. */
  readonly kinds: string;
  /** A block with more rows is cut into pieces of half as many. Default `BLOCK_ROWS_MAX`. */
  readonly rowsMax?: number;
  /** Blocks of a run when it is made. Default `RUN_BLOCKS`. */
  readonly runBlocks?: number;
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

/**
 * Half of it is what a page adds up within a run, and as many blocks are in no run yet, about: of ten million rows it is as many
 * runs again.
 */
const RUN_BLOCKS = 32;

export const NO_ID = { integer: '0', uuid: '00000000-0000-0000-0000-000000000000' } as const;

export const listedSql = ({ where }: ListBlocks): string => (where === undefined ? '' : `and ${where}`);

export const rowsMaxOf = ({ rowsMax = BLOCK_ROWS_MAX }: ListBlocks): number => rowsMax;

export const pieceOf = (blocks: ListBlocks): number => rowsMaxOf(blocks) / 2;

/** A block that is no larger is joined with the one before it. */
export const smallOf = (blocks: ListBlocks): number => rowsMaxOf(blocks) / 4;

export const runBlocksOf = ({ runBlocks = RUN_BLOCKS }: ListBlocks): number => runBlocks;

/** Blocks that the last run of a list leaves behind it: new ones begin there. */
export const openBlocksOf = (blocks: ListBlocks): number => Math.ceil(runBlocksOf(blocks) / 2);

/** A run with more rows has blocks for two at least. */
export const runRowsMaxOf = (blocks: ListBlocks): number => 2 * runBlocksOf(blocks) * rowsMaxOf(blocks);

/** A run that is no larger is joined with the next one, unless together they would have more than `runRowsJoinedOf`. */
export const smallRunOf = (blocks: ListBlocks): number => runBlocksOf(blocks) * smallOf(blocks);

export const runRowsJoinedOf = (blocks: ListBlocks): number => runBlocksOf(blocks) * rowsMaxOf(blocks);

/** SQL, of a kind: it is of blocks, not of runs. */
export const ofBlocks = (kind: string): string => `not starts_with(${kind}, '${RUN}')`;

export interface List {
  readonly customer_id: string;
  readonly advertiser_id: number;
}

export interface Block extends List {
  readonly first_at: string;
  readonly first_id: number | string;
}

export interface Counted extends Block {
  readonly kind: string;
  readonly count: string;
}

export const idArray = ({ idType }: ListBlocks, ids: readonly (number | string)[]): Buffer =>
  idType === 'integer' ? int4Array(ids as readonly number[]) : uuidArray(ids as readonly string[]);

export const KEY = 'customer_id, advertiser_id, first_at, first_id, kind';

export const placeOf = ({ customer_id, advertiser_id, first_at, first_id }: Block): readonly unknown[] => [
  customer_id,
  advertiser_id,
  first_at,
  first_id,
];

/** SQL of a row that is a run's. */
export const RUN_KIND = `starts_with(kind, '${RUN}')`;
