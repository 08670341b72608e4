import { Button, Group, Paper, Skeleton, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Query } from '../api/call.ts';
import { useAnswer } from '../api/query.ts';
import { readAllByCursor, type CursorPage } from './export.ts';
import { ExportMenu } from './export-menu.tsx';
import { Filters, type Filter } from './filters.tsx';
import { Rows, type Column } from './list-table.tsx';
import { Problem } from './problem.tsx';
import { useUrlState } from './url-state.ts';

interface Props<Row> {
  readonly name: string;
  readonly path: string;
  readonly query?: Query;
  /** A function: those of an answer, e.g. without metrics that no row has. */
  readonly columns: readonly Column<Row>[] | ((data: unknown) => readonly Column<Row>[]);
  /** Rows on a page. */
  readonly limit?: number;
  readonly scrolls?: boolean;
  readonly rowKey: (row: Row) => string | number;
  readonly filters?: readonly Filter[];
  readonly empty: ReactNode;
  readonly pageOf: (data: unknown) => CursorPage<Row>;
  /** Shown above the rows. */
  readonly about?: (rows: readonly Row[], data: unknown, readAtMs: number) => ReactNode;
}

const LIMIT = 50;

/** A list whose pages are found by a cursor: one goes on, and back to the first page. */
export const CursorTable = <Row,>(props: Props<Row>) => {
  const {
    name,
    path,
    query = {},
    rowKey,
    filters = [],
    empty,
    pageOf,
    about,
    limit = LIMIT,
    scrolls,
  } = props;
  const [url, change] = useUrlState();
  const set = Object.fromEntries(filters.map((filter) => [filter.name, url[filter.name]]));
  const asked: Query = { ...query, ...set };
  const cursor = url['cursor'];
  const { data, error, isPending, isPlaceholderData, dataUpdatedAt } = useAnswer<unknown>(
    path,
    { ...asked, limit, cursor },
    { keeps: true },
  );
  const { rows, next } = data === undefined ? { rows: [], next: undefined } : pageOf(data.data);
  const columns = typeof props.columns === 'function' ? props.columns(data?.data) : props.columns;
  const isFiltered = Object.values(set).some((value) => value !== undefined);
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="flex-end">
        <Filters filters={filters} />
        <ExportMenu
          name={name}
          columns={columns}
          read={() => readAllByCursor(path, asked, pageOf)}
          isOff={rows.length === 0}
        />
      </Group>
      <Problem error={error} />
      {data !== undefined && about?.(rows, data.data, dataUpdatedAt)}
      {isPending && error === null && <Skeleton height={200} />}
      {data !== undefined && rows.length === 0 && (
        <Paper withBorder p="lg">
          {isFiltered || cursor !== undefined ? <Text>Nothing matches the filters.</Text> : empty}
        </Paper>
      )}
      {rows.length > 0 && (
        <Rows
          name={name}
          rows={rows}
          columns={columns}
          rowKey={rowKey}
          isOld={isPlaceholderData}
          scrolls={scrolls}
        />
      )}
      <Group>
        {cursor !== undefined && (
          <Button variant="default" size="xs" onClick={() => change({ cursor: undefined })}>
            First page
          </Button>
        )}
        {next !== undefined && (
          <Button variant="default" size="xs" onClick={() => change({ cursor: next })}>
            Next page
          </Button>
        )}
      </Group>
    </Stack>
  );
};
