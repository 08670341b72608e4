import type { Column } from './list-table.tsx';
import { Time } from './time.tsx';

/** @param options `wide`: hidden on narrow screens; default true */
export const timeColumn = <Row,>(
  title: string,
  at: (row: Row) => string | undefined,
  { wide = true } = {},
): Column<Row> => ({ title, text: at, cell: (row) => <Time at={at(row)} relative />, wide });
