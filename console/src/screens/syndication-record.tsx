import { Button, List, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useRead } from '../api/query.ts';
import type { HistoryEvent, HistoryPage, SyndicationRecord } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { Facts, ObjectPage } from '../pieces/object-page.tsx';
import { Problem } from '../pieces/problem.tsx';
import { resourceAddress } from '../pieces/resource-address.ts';
import { Time } from '../pieces/time.tsx';
import { Value } from '../pieces/value.tsx';
import { useToggle } from './syndication-cell.tsx';
import { labelOf, recordsPath, useAgents } from './syndicated.ts';

/** One resource at one agent: where it stands, every attempt, and what the agent has said. */
const RecordPage = () => {
  const { advertiserId = '', recordId = '' } = useParams({ strict: false });
  const path = `${recordsPath(advertiserId)}/${recordId}`;
  const { data, error } = useRead<SyndicationRecord>(path);
  const { data: agents = [] } = useAgents();
  const agent = agents.find(({ id }) => id === data?.adcpAgentId);
  const toggle = useToggle(advertiserId);
  const set = (enabled: boolean): void => {
    if (data === undefined) return;
    const resource = { type: data.resourceType, id: data.resourceId };
    toggle.mutate({ resource, agentId: data.adcpAgentId, enabled });
  };
  return (
    <ObjectPage
      title={data === undefined ? 'Delivery' : `${data.resourceId} at ${agent?.name ?? data.adcpAgentId}`}
      mark={<State of={data?.status} />}
      about={<CopyId id={recordId} what="syndication id" />}
      path={path}
      data={data}
      error={error}
      actions={
        data !== undefined && (
          <>
            {data.status === 'FAILED' && (
              <Button loading={toggle.isPending} onClick={() => set(true)}>
                Try again
              </Button>
            )}
            <Button variant="default" loading={toggle.isPending} onClick={() => set(!data.enabled)}>
              {data.enabled ? 'Switch off' : 'Switch on'}
            </Button>
          </>
        )
      }
      tabs={
        data === undefined
          ? []
          : [
              {
                name: 'overview',
                label: 'Overview',
                content: () => (
                  <Stack>
                    <Problem error={toggle.error} />
                    <Steps path={path} />
                    <Overview record={data} />
                  </Stack>
                ),
              },
            ]
      }
    />
  );
};

const Overview = ({ record }: { readonly record: SyndicationRecord }) => (
  <Facts
    facts={[
      [
        labelOf(record.resourceType),
        <Go key="resource" to={resourceAddress(record) ?? '.'}>
          {record.resourceId}
        </Go>,
      ],
      [
        'Agent',
        <Go key="agent" to={`/agents/${record.adcpAgentId}`}>
          {record.adcpAgentId}
        </Go>,
      ],
      [
        'Others',
        <Go key="board" to={`/syndication?advertiserId=${record.advertiserId}`}>
          On the board
        </Go>,
      ],
      record.adcpAgentAccountId !== null && ['Account there', record.adcpAgentAccountId],
      record.errorMessage !== null && ['Error', record.errorMessage],
      record.responseData !== null && ['The agent answered', <Value key="answer" of={record.responseData} />],
      ['Switched on', record.enabled ? 'yes' : 'no'],
      ['Created', <Time key="created" at={record.createdAt} />],
      ['Changed', <Time key="changed" at={record.updatedAt} />],
      ['Completed', <Time key="completed" at={record.completedAt ?? undefined} />],
    ]}
  />
);

const words: Readonly<Record<string, string>> = {
  SyndicationToggled: 'Switched',
  SyndicationRefreshed: 'The resource has changed: it is sent again',
  SyndicationStarted: 'A worker sends it to the agent',
  SyndicationSubmitted: 'The agent has taken it as a task, and works on it',
  SyndicationRetried: 'The attempt failed, another one follows',
  SyndicationCompleted: 'The agent has it',
  SyndicationFailed: 'Failed, and is not tried again by itself',
  SyndicationWithdrawn: 'The agent was asked to delete it',
};

const afterOf = ({ changes }: HistoryEvent, path: string): unknown =>
  changes.find((change) => change.path === path)?.after;

const stepText = (event: HistoryEvent): string => {
  if (event.type !== 'SyndicationToggled') return words[event.type] ?? event.type;
  return afterOf(event, '/status') === 'DISABLED' ? 'Switched off' : 'Switched on, or tried again by hand';
};

const SHOWN = 200;

/** The way of the resource to the agent, newest step first. */
const Steps = ({ path }: { readonly path: string }) => {
  const { data, error } = useRead<HistoryPage>(`${path}/history`, { take: SHOWN });
  if (data === undefined) return error === null ? <Skeleton height={120} /> : <Problem error={error} />;
  return (
    <Paper withBorder p="lg">
      <Title order={2} size="h4" mb="sm">
        On its way
      </Title>
      <List listStyleType="none" spacing="xs" aria-label="Steps">
        {data.events.toReversed().map((event) => {
          const problem = afterOf(event, '/errorMessage');
          return (
            <List.Item key={event.id}>
              <Text size="sm" component="div">
                {stepText(event)}{' '}
                <Text span size="xs" c="dimmed">
                  <Time at={event.timestamp} />
                </Text>
              </Text>
              {typeof problem === 'string' && (
                <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {problem}
                </Text>
              )}
            </List.Item>
          );
        })}
      </List>
    </Paper>
  );
};

export default RecordPage;
