import { Button, Menu, Stack } from '@mantine/core';
import { useState } from 'react';
import { saveRows, type ExportFormat } from './export.ts';
import type { Column } from './list-table.tsx';
import { Problem } from './problem.tsx';

interface Props<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  /** What is saved: all rows that match, not only those of the page. */
  readonly read: () => Promise<readonly Row[]>;
  readonly isOff: boolean;
}

export const ExportMenu = <Row,>({ name, columns, read, isOff }: Props<Row>) => {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const save = async (format: ExportFormat): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      saveRows(name, format, await read(), columns);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack gap="xs" align="flex-end">
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" size="xs" loading={isBusy} disabled={isOff} aria-label={`Export ${name}`}>
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void save('csv')}>As CSV</Menu.Item>
          <Menu.Item onClick={() => void save('json')}>As JSON</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Problem error={error} />
    </Stack>
  );
};
