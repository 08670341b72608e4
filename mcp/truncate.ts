/** Specification, Other bounds: 200 kB of UTF-8, of the result as JSON. */
export const RESULT_BYTES_MAX = 200_000;

/** Members that were left out, as JSON Pointers, with their bytes. */
export type Omitted = Readonly<Record<string, number>>;
export type Row = Readonly<Record<string, unknown>>;

export const jsonBytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

export interface FittedRow {
  readonly row: Row;
  readonly omitted: Omitted;
}

/**
 * Leaves out the largest members, one after the other, until `build` gives at most `bytesMax` bytes.
 * @param path JSON Pointer of the row in the result
 */
export const fitRow = (
  row: Row,
  path: string,
  bytesMax: number,
  build: (fitted: FittedRow) => unknown,
): FittedRow => {
  let fitted: FittedRow = { row, omitted: {} };
  if (jsonBytesOf(build(fitted)) <= bytesMax) return fitted;
  const bySize = Object.entries(row)
    .map(([member, value]) => ({ member, bytes: jsonBytesOf(value) }))
    .toSorted((one, other) => other.bytes - one.bytes);
  for (const { member, bytes } of bySize) {
    const { [member]: _large, ...left } = fitted.row;
    const pointer = `${path}/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    fitted = { row: left, omitted: { ...fitted.omitted, [pointer]: bytes } };
    if (jsonBytesOf(build(fitted)) <= bytesMax) break;
  }
  return fitted;
};

export interface RowsToFit {
  readonly rows: readonly Row[];
  /** JSON Pointer of the rows in the result. */
  readonly path: string;
  readonly bytesMax: number;
  readonly build: (rows: readonly Row[], omitted: Omitted) => unknown;
}

/**
 * Leaves out rows from the end until what `build` gives has at most `bytesMax` bytes. One row always stays, so that
 * the next page is another one: a row that is too large loses its largest members.
 */
export const fitRows = ({
  rows,
  path,
  bytesMax,
  build,
}: RowsToFit): { readonly rows: readonly Row[]; readonly omitted: Omitted } => {
  const sizes = rows.map((row) => jsonBytesOf(row) + 1);
  let count = countWithin(sizes, bytesMax);
  while (count > 0 || rows.length === 0) {
    const bytesOver = jsonBytesOf(build(rows.slice(0, count), {})) - bytesMax;
    if (bytesOver <= 0 || count === 0) return { rows: rows.slice(0, count), omitted: {} };
    // At least so many rows must go that their bytes are the surplus.
    count -= countWithin(sizes.slice(0, count).toReversed(), bytesOver - 1) + 1;
  }
  const { row, omitted } = fitRow(rows[0] as Row, `${path}/0`, bytesMax, (fitted) =>
    build([fitted.row], fitted.omitted),
  );
  return { rows: [row], omitted };
};

/** Of the first items, as many as have at most `bytesMax` bytes together. */
const countWithin = (sizes: readonly number[], bytesMax: number): number => {
  let sum = 0;
  const end = sizes.findIndex((bytes) => (sum += bytes) > bytesMax);
  return end < 0 ? sizes.length : end;
};
