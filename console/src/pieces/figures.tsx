import { Group, Text } from '@mantine/core';
import { ExportMenu } from './export-menu.tsx';
import { Rows, type Column } from './list-table.tsx';

interface Props<Row> {
  /** For screen readers, and the name of the exported file. */
  readonly name: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly empty: string;
  /** In pixels; a longer table scrolls. */
  readonly height?: number;
}

/** A table of what the page has already read: its rows are exported as they are. */
export const Figures = <Row,>({ name, rows, columns, rowKey, empty, height }: Props<Row>) => (
  <>
    <Group justify="flex-end">
      <ExportMenu
        name={name}
        columns={columns}
        read={() => Promise.resolve(rows)}
        isOff={rows.length === 0}
      />
    </Group>
    {rows.length === 0 ? (
      <Text c="dimmed">{empty}</Text>
    ) : (
      <Rows name={name} rows={rows} columns={columns} rowKey={rowKey} height={height} />
    )}
  </>
);
