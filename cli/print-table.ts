import { styleText } from 'node:util';
import Table from 'cli-table3';
import { systemClock } from '../shared/async/clock.ts';
import type { Tools } from './command.ts';

/** No borders, so that `grep` and `awk` can process the lines. */
const BORDERS =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid';
const PLAIN = { ...Object.fromEntries(BORDERS.split(' ').map((name) => [name, ''])), middle: '  ' };

export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const style = { head: [], border: [], 'padding-left': 0, 'padding-right': 0 };
  const bold = head.map((title) => styleText('bold', title, { stream: process.stdout }));
  const table = new Table({ head: bold, chars: PLAIN, style });
  table.push(...rows.map((cells) => [...cells]));
  return table.toString().replaceAll(/ +$/gm, '');
};

interface List<Item> {
  readonly head: readonly string[];
  readonly cells: (item: Item) => readonly string[];
  /** Printed on standard error instead of a table without rows. */
  readonly empty: string;
}

/** Rows that share their column widths. Bounds memory. */
const ROWS_MAX = 1_000;

export const printList = async <Item extends object>(
  { print, remark, isJson }: Pick<Tools, 'print' | 'remark' | 'isJson'>,
  items: AsyncIterable<Item> | Iterable<Item>,
  { head, cells, empty }: List<Item>,
): Promise<void> => {
  let rows: (readonly string[])[] = [];
  let printed = 0;
  const flush = (): void => {
    if (rows.length > 0) print(rows, tableOf(printed === rows.length ? head : [], rows));
    rows = [];
  };
  for await (const item of items) {
    printed += 1;
    if (isJson()) {
      print(item, undefined);
      continue;
    }
    rows.push(cells(item));
    if (rows.length === ROWS_MAX) flush();
  }
  flush();
  if (printed === 0 && !isJson()) remark(empty);
};

const UNITS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** @returns for example `3 minutes ago` or `in 2 days` */
export const relativeTime = (at: Date | string, nowMs = systemClock.now()): string => {
  const seconds = Math.round((new Date(at).getTime() - nowMs) / 1_000);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return seconds === 0 ? 'now' : new Intl.RelativeTimeFormat('en').format(Math.trunc(seconds / size), unit);
};
