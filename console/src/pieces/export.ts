import { call, readItems, type Query } from '../api/call.ts';
import type { Column } from './list-table.tsx';

export type ExportFormat = 'csv' | 'json';

const TAKE = 100;
/** Requests of a session are limited for the address: more pages would use up the minute. */
const PAGES_MAX = 50;

/** What the filters match, from all pages. */
export const readAllPages = <Row>(path: string, query: Query): Promise<readonly Row[]> =>
  readItems<Row>(path, query, TAKE * PAGES_MAX);

/** The same, of a list whose pages are found by a cursor. */
export const readAllByCursor = async <Row>(
  path: string,
  query: Query,
  pageOf: (data: unknown) => CursorPage<Row>,
): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { data } = await call<unknown>({ path, query: { ...query, limit: TAKE, cursor } });
    const { rows: more, next } = pageOf(data);
    rows.push(...more);
    if (next === undefined) break;
    cursor = next;
  }
  return rows;
};

export interface CursorPage<Row> {
  readonly rows: readonly Row[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

export const saveRows = <Row>(
  name: string,
  format: ExportFormat,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): void => {
  if (format === 'json') return save(`${name}.json`, 'application/json', JSON.stringify(rows, undefined, 2));
  save(`${name}.csv`, 'text/csv', csvOf(rows, columns));
};

const csvOf = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string =>
  [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ text }) => text(row)))]
    .map((cells) => cells.map(cellOf).join(','))
    .join('\r\n');

/** A leading `=`, `+`, `-` or `@` would be a formula in a spreadsheet: names come from other people. */
const cellOf = (value: string | number | undefined): string => {
  if (typeof value === 'number') return String(value);
  const text = value ?? '';
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

const save = (name: string, type: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};
