import { describe, expect, it } from '@jest/globals';
import { createToolCursors } from '../../mcp/cursor.ts';
import { pageOf, type PagedList } from '../../mcp/page.ts';
import { refuseDeep } from '../../mcp/refuse-deep.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';

const keys: KeyRing = [{ id: '1', bytes: Buffer.alloc(32, 7) }];
const cursors = createToolCursors(async () => keys);

const rows = Array.from({ length: 10 }, (_, n) => ({ id: n, text: '\u6f22'.repeat(100) }));

/** A list whose own cursors only follow whole pages, as `listCreativeSessions` has. */
const listed: Omit<PagedList, 'cursor'> & { readonly asked: number[] } = {
  asked: [],
  cursors,
  query: { customerId: 1, tool: 'search', asked: { kind: 'x' } },
  limit: 8,
  read: async (position, limit) => {
    listed.asked.push(limit);
    const start = position === undefined ? 0 : Number(position.replace('after-', ''));
    const found = rows.slice(start, start + limit);
    const end = start + found.length;
    return { rows: found, ...(end < rows.length && { next: `after-${end}` }) };
  },
  shown: (row) => row,
  path: '/rows',
  // Enough for two or three rows and the page.
  bytesMax: 2_000,
};

describe('a page of a list that has only its own cursors', () => {
  it('continues after the rows that fitted', async () => {
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const built = await pageOf({ ...listed, cursor }, (found, page) => ({ rows: found, page }));
      expect(Buffer.byteLength(JSON.stringify(built))).toBeLessThanOrEqual(2_000);
      expect(built.page).toMatchObject({ hasMore: built.page.nextCursor !== undefined });
      seen.push(...built.rows.map(({ id }) => id));
      cursor = built.page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(rows.map(({ id }) => id));
    // A second, smaller page was read, for the cursor at its end.
    expect(Math.min(...listed.asked)).toBeLessThan(8);
  });
});

describe('arguments', () => {
  it('nested very deeply are refused without exhausting the stack', () => {
    const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    expect(() => refuseDeep({ a: nested(90) })).not.toThrow();
    expect(() => refuseDeep({ a: nested(200_000) })).toThrow('nested deeper');
  });
});
