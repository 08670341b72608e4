import { Button, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { readPlain } from '../api/call.ts';
import type { Health, Ready } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { Figures } from '../pieces/figures.tsx';
import { Code } from '../pieces/json.tsx';
import type { Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { Problem } from '../pieces/problem.tsx';
import { timeText } from '../pieces/time.tsx';
import { AdminsOnly } from './account/admins-only.tsx';

interface Part {
  readonly name: string;
  readonly ready: boolean;
}

type ReadModel = NonNullable<Ready['parts'][string]['detail']>['projections'][number];

const readModelsIn = ({ parts }: Ready): readonly ReadModel[] =>
  parts['projections']?.detail?.projections ?? [];

const lagText = ({ lagEvents, lagBytes }: ReadModel): string => {
  if (lagEvents !== undefined) return lagEvents <= 0 ? 'none' : `${lagEvents} events`;
  return lagBytes === undefined ? '–' : lagBytes <= 0 ? 'none' : `${lagBytes} bytes of the log`;
};

const partColumns: readonly Column<Part>[] = [
  { title: 'Part', text: ({ name }) => name },
  {
    title: 'State',
    text: ({ ready }) => (ready ? 'ready' : 'not ready'),
    cell: ({ ready }) => <State of={ready ? 'ready' : 'not_ready'} />,
  },
];

const readModelColumns: readonly Column<ReadModel>[] = [
  { title: 'Read model', text: ({ name }) => name },
  { title: 'Behind the log', text: lagText },
  { title: 'State', text: ({ state }) => state, wide: true },
  { title: 'Parked streams', text: ({ parkedStreams }) => parkedStreams, wide: true },
];

const usePlain = <Data,>(path: string) =>
  useQuery({ queryKey: [path], queryFn: ({ signal }) => readPlain<Data>(path, signal), staleTime: 0 });

const System = () => (
  <Page title="System" about="Whether the service works, and how far its read models are behind the log.">
    <AdminsOnly what="The state of the service is">
      <Parts />
    </AdminsOnly>
  </Page>
);

const Parts = () => {
  const ready = usePlain<Ready>('/ready');
  const health = usePlain<Health>('/health');
  const { data, error, dataUpdatedAt } = ready;
  if (data === undefined) return error === null ? <Skeleton height={200} /> : <Problem error={error} />;
  return (
    <Stack>
      <Problem error={error} />
      <Group>
        <State of={data.status} />
        {health.data !== undefined && <Text>Version {health.data.version}</Text>}
        <Text size="sm" c="dimmed" role="status">
          As of {timeText(new Date(dataUpdatedAt).toISOString())}
        </Text>
        <Button size="xs" variant="default" loading={ready.isFetching} onClick={() => void ready.refetch()}>
          Read again
        </Button>
      </Group>
      <Paper withBorder p="lg" style={{ minWidth: 0 }}>
        <Title order={2} size="h4">
          Parts
        </Title>
        <Figures
          name="parts"
          rows={Object.entries(data.parts).map(([name, part]) => ({ name, ...part }))}
          columns={partColumns}
          rowKey={({ name }) => name}
          empty="The service names no parts."
        />
      </Paper>
      <Paper withBorder p="lg" style={{ minWidth: 0 }}>
        <Title order={2} size="h4">
          Read models
        </Title>
        <Figures
          name="read models"
          rows={readModelsIn(data)}
          columns={readModelColumns}
          rowKey={({ name }) => name}
          height={400}
          empty="The service does not say how far they are."
        />
      </Paper>
      <details>
        <summary>All details</summary>
        <Code label="GET /ready" text={JSON.stringify(data, undefined, 2)} />
      </details>
    </Stack>
  );
};

export default System;
