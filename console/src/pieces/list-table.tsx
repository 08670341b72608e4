import { Button, Checkbox, Group, Paper, Pagination, Skeleton, Stack, Table, Text } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useAnswer } from '../api/query.ts';
import type { Query } from '../api/call.ts';
import { readAllPages } from './export.ts';
import { ExportMenu } from './export-menu.tsx';
import { Filters, type Filter } from './filters.tsx';
import { Problem } from './problem.tsx';
import { useUrlState } from './url-state.ts';

export interface Column<Row> {
  readonly title: string;
  /** What the export contains, and what is shown if there is no `cell`. */
  readonly text: (row: Row) => string | number | undefined;
  readonly cell?: (row: Row) => ReactNode;
  /** Hidden on narrow screens. */
  readonly wide?: boolean;
}

interface Props<Row> {
  /** What the rows are, e.g. `campaigns`: for screen readers and the name of the exported file. */
  readonly name: string;
  readonly path: string;
  /** Sent with every read, in addition to the filters. */
  readonly query?: Query;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string | number;
  readonly filters?: readonly Filter[];
  /** Shown when there are no rows and no filter is set: it says how to get the first one. */
  readonly empty: ReactNode;
  /** With it, rows can be chosen. @param clear after which none is chosen */
  readonly bulk?: (chosen: readonly Row[], clear: () => void) => ReactNode;
  /** What the service gives out as rows, if `data` is not the list itself. */
  readonly rowsOf?: (data: unknown) => readonly Row[];
}

const TAKE = 50;

/** A list of the API, page by page: page and filters are in the address. */
export const ListTable = <Row,>(props: Props<Row>) => {
  const { name, path, query = {}, columns, rowKey, filters = [], empty, bulk } = props;
  const rowsOf = props.rowsOf ?? ((data: unknown) => data as readonly Row[]);
  const [url, change] = useUrlState();
  const [chosen, setChosen] = useState<ReadonlySet<string | number>>(new Set());
  const page = Math.max(1, Number(url['page'] ?? 1) || 1);
  const set = Object.fromEntries(filters.map((filter) => [filter.name, url[filter.name]]));
  const asked: Query = { ...query, ...set };
  const {
    data: answer,
    error,
    isPending,
    isPlaceholderData,
  } = useAnswer<unknown>(path, { ...asked, take: TAKE, skip: (page - 1) * TAKE }, { keeps: true });
  const rows = answer === undefined ? [] : rowsOf(answer.data);
  const total = answer?.pagination?.total ?? totalIn(answer?.data) ?? rows.length;
  const isFiltered = Object.values(set).some((value) => value !== undefined);
  const chosenRows = rows.filter((row) => chosen.has(rowKey(row)));
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="flex-end">
        <Filters filters={filters} />
        <ExportMenu
          name={name}
          columns={columns}
          read={() => readAllPages<Row>(path, asked)}
          isOff={total === 0}
        />
      </Group>
      {bulk !== undefined && chosenRows.length > 0 && (
        <Group gap="xs" role="group" aria-label="Chosen rows">
          <Text size="sm">{chosenRows.length} chosen</Text>
          {bulk(chosenRows, () => setChosen(new Set()))}
        </Group>
      )}
      <Problem error={error} />
      {isPending && error === null && <Skeleton height={200} />}
      {answer !== undefined && rows.length === 0 && (
        <Paper withBorder p="lg">
          {total > 0 ? (
            <Button variant="default" size="xs" onClick={() => change({ page: undefined })}>
              This page is empty: to the first one
            </Button>
          ) : isFiltered ? (
            <Text>Nothing matches the filters.</Text>
          ) : (
            empty
          )}
        </Paper>
      )}
      {rows.length > 0 && (
        <Rows
          name={name}
          rows={rows}
          columns={columns}
          rowKey={rowKey}
          chosen={bulk === undefined ? undefined : chosen}
          choose={setChosen}
          isOld={isPlaceholderData}
        />
      )}
      <Foot
        text={answer === undefined ? '' : countText(total, name)}
        pages={Math.ceil(total / TAKE)}
        page={page}
        open={(next) => change({ page: next === 1 ? undefined : String(next) })}
      />
    </Stack>
  );
};

/** @param name a plural, e.g. `deliveries` */
const countText = (count: number, name: string): string =>
  `${count.toLocaleString()} ${count === 1 ? name.replace(/ies$/, 'y').replace(/s$/, '') : name}`;

/** Lists with other members than their items have it there. */
const totalIn = (data: unknown): number | undefined =>
  typeof data === 'object' && data !== null && 'total' in data ? Number(data.total) : undefined;

interface FootProps {
  readonly text: string;
  readonly pages: number;
  readonly page: number;
  readonly open: (page: number) => void;
}

const Foot = ({ text, pages, page, open }: FootProps) => (
  <Group justify="space-between">
    <Text size="sm" c="dimmed" role="status">
      {text}
    </Text>
    {pages > 1 && (
      <Pagination
        total={pages}
        value={page}
        onChange={open}
        getControlProps={(control) => ({ 'aria-label': `${control} page` })}
      />
    )}
  </Group>
);

export interface RowsProps<Row> extends Pick<Props<Row>, 'name' | 'columns' | 'rowKey'> {
  readonly rows: readonly Row[];
  /** Without it, rows cannot be chosen. */
  readonly chosen?: ReadonlySet<string | number> | undefined;
  readonly choose?: (chosen: ReadonlySet<string | number>) => void;
  readonly isOld?: boolean;
  /** In pixels. A longer table scrolls, also by the keyboard. */
  readonly height?: number | undefined;
  /** It may be wider than a narrow window and has no links: the keyboard must be able to scroll it. */
  readonly scrolls?: boolean | undefined;
}

const nothing = (): void => undefined;

const scrollOf = <Row,>({ name, height, scrolls = height !== undefined }: RowsProps<Row>) => ({
  ...(height === undefined ? {} : { style: { maxHeight: height } }),
  ...(scrolls ? { tabIndex: 0, role: 'region', 'aria-label': `All ${name}` } : {}),
});

export const Rows = <Row,>(props: RowsProps<Row>) => {
  const { name, rows, columns, rowKey, chosen, choose = nothing, isOld = false } = props;
  const toggle = (key: string | number): void => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    choose(next);
  };
  const areAll = chosen !== undefined && rows.every((row) => chosen.has(rowKey(row)));
  return (
    <Table.ScrollContainer minWidth={0} type="native" {...scrollOf(props)}>
      <Table highlightOnHover aria-label={name} style={{ opacity: isOld ? 0.6 : 1 }}>
        <Table.Thead>
          <Table.Tr>
            {chosen !== undefined && (
              <Table.Th w={40}>
                <Checkbox
                  aria-label="Choose all of this page"
                  checked={areAll}
                  onChange={() => choose(areAll ? new Set() : new Set(rows.map(rowKey)))}
                />
              </Table.Th>
            )}
            {columns.map(({ title, wide }) => (
              <Table.Th key={title} {...(wide === true ? { visibleFrom: 'sm' } : {})}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={rowKey(row)}>
              {chosen !== undefined && (
                <Table.Td>
                  <Checkbox
                    aria-label={`Choose ${String(columns[0]?.text(row) ?? rowKey(row))}`}
                    checked={chosen.has(rowKey(row))}
                    onChange={() => toggle(rowKey(row))}
                  />
                </Table.Td>
              )}
              {columns.map(({ title, cell, text, wide }, index) => (
                <Table.Td
                  key={title}
                  {...(wide === true ? { visibleFrom: 'sm' } : {})}
                  // A long name without spaces would push the other columns out of a narrow window.
                  style={index === 0 ? { overflowWrap: 'anywhere' } : {}}
                >
                  {cell === undefined ? text(row) : cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
};
