import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fitRow, fitRows, jsonBytesOf, type Row } from '../../mcp/truncate.ts';

const build = (rows: readonly Row[], omitted: object) => ({
  rows,
  page: { returned: rows.length },
  ...(Object.keys(omitted).length > 0 && { omitted }),
});

const fit = (rows: readonly Row[], bytesMax: number) => fitRows({ rows, path: '/rows', bytesMax, build });

/** One, two, three and four bytes of UTF-8. */
const characters = fc.constantFrom('a', '\u00e9', '\u6f22', '\u{1f600}', '"', '\n');
const text = fc.array(characters, { maxLength: 60 }).map((all) => all.join(''));
const row = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd/e', 'f~'), text, { maxKeys: 5 });

describe('rows that fit', () => {
  it('are as many of the first as fit, and at least one', () => {
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 30 }),
        fc.integer({ min: 120, max: 2_000 }),
        (rows, bytesMax) => {
          const { rows: kept, omitted } = fit(rows, bytesMax);
          expect(kept.length).toBeGreaterThanOrEqual(Math.min(1, rows.length));
          expect(jsonBytesOf(build(kept, omitted))).toBeLessThanOrEqual(Math.max(bytesMax, 400));
          if (Object.keys(omitted).length > 0) return;
          expect(kept).toEqual(rows.slice(0, kept.length));
          // One more would be too many.
          if (kept.length < rows.length) {
            expect(jsonBytesOf(build(rows.slice(0, kept.length + 1), {}))).toBeGreaterThan(bytesMax);
          }
        },
      ),
    );
  });

  it.each([-1, 0, 1])('at %i bytes from the limit', (over) => {
    const rows = [{ a: '\u6f22'.repeat(10) }, { a: 'x' }];
    const bytesMax = jsonBytesOf(build(rows, {})) - over;
    expect(fit(rows, bytesMax).rows.length).toBe(over > 0 ? 1 : 2);
  });

  it('of none are none', () => {
    expect(fit([], 10)).toEqual({ rows: [], omitted: {} });
  });
});

describe('a row that is too large', () => {
  it('loses its largest members, named as JSON Pointers with their bytes', () => {
    const large = { id: 1, 'a/b': 'x'.repeat(300), 'c~d': '\u6f22'.repeat(50), e: 'y' };
    expect(fit([large, { id: 2 }], 200)).toEqual({
      rows: [{ id: 1, e: 'y' }],
      omitted: { '/rows/0/a~1b': 302, '/rows/0/c~0d': 152 },
    });
  });

  it('stays whole if it fits', () => {
    const { row: kept, omitted } = fitRow({ a: 'x' }, '/object', 100, (one) => one);
    expect([kept, omitted]).toEqual([{ a: 'x' }, {}]);
  });
});
