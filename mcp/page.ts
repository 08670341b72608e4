import { z } from 'zod';
import type { PagedQuery, ToolCursors } from './cursor.ts';
import { fitRows, type Omitted, type Row } from './truncate.ts';

const PAGE_ROWS_MAX = 100;
const PAGE_ROWS_DEFAULT = 50;
const CURSOR_LENGTH_MAX = 1_000;

export const pageArguments = {
  limit: z
    .int()
    .min(1)
    .max(PAGE_ROWS_MAX)
    .default(PAGE_ROWS_DEFAULT)
    .meta({ description: 'Rows of a page.' }),
  cursor: z
    .string()
    .min(1)
    .max(CURSOR_LENGTH_MAX)
    .optional()
    .meta({ description: '`nextCursor` of the page before; repeat the other arguments.' }),
};

export const Page = z.object({
  returned: z.int().meta({ description: 'Rows in this result.' }),
  total: z.int().optional().meta({ description: 'Rows of the whole list, where it is known.' }),
  hasMore: z.boolean(),
  truncated: z
    .boolean()
    .meta({ description: 'True: something was left out, because a result has at most 200,000 bytes.' }),
  nextCursor: z.string().optional().meta({ description: 'Absent on the last page.' }),
});
export type Page = z.infer<typeof Page>;

export const omittedMember = {
  omitted: z
    .record(z.string(), z.int())
    .optional()
    .meta({ description: 'Members that were too large for a result: JSON Pointer and bytes.' }),
};

export interface ReadPage {
  readonly rows: readonly Row[];
  readonly total?: number | undefined;
  /** The position after all rows; absent if the list ends there. */
  readonly next?: string | undefined;
  /** The position after the first rows. Default: the list is read again with a smaller limit. */
  readonly after?: (rows: number) => string;
}

export interface PagedList {
  readonly cursors: ToolCursors;
  readonly query: PagedQuery;
  readonly cursor: string | undefined;
  readonly limit: number;
  /** @param position undefined at the start of the list */
  readonly read: (position: string | undefined, limit: number) => Promise<ReadPage>;
  readonly shown: (row: Row) => Row;
  /** JSON Pointer of the rows in the result. */
  readonly path: string;
  /** Of what `build` gives. */
  readonly bytesMax: number;
}

/** Reads one page, and leaves out what a result has no room for. */
export const pageOf = async <Built>(
  { cursors, query, cursor, limit, read, shown, path, bytesMax }: PagedList,
  build: (rows: readonly Row[], page: Page, omitted: Omitted) => Built,
): Promise<Built> => {
  const position = cursor === undefined ? undefined : await cursors.open(query, cursor);
  const found = await read(position, limit);
  const pageWith = (returned: number, omitted: Omitted, nextCursor: string | undefined): Page => ({
    returned,
    ...(found.total !== undefined && { total: found.total }),
    hasMore: nextCursor !== undefined,
    truncated: returned < found.rows.length || Object.keys(omitted).length > 0,
    ...(nextCursor !== undefined && { nextCursor }),
  });
  const nextOfAll = found.next === undefined ? undefined : await cursors.seal(query, found.next);
  const longest = 'x'.repeat(CURSOR_LENGTH_MAX);
  const { rows, omitted } = fitRows({
    rows: found.rows.map(shown),
    path,
    bytesMax,
    build: (some, left) =>
      build(some, pageWith(some.length, left, some.length < found.rows.length ? longest : nextOfAll), left),
  });
  if (rows.length === found.rows.length)
    return build(rows, pageWith(rows.length, omitted, nextOfAll), omitted);
  const next = found.after?.(rows.length) ?? (await read(position, rows.length)).next;
  const nextCursor = next === undefined ? undefined : await cursors.seal(query, next);
  return build(rows, pageWith(rows.length, omitted, nextCursor), omitted);
};
