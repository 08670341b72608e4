import { Group, Paper, Skeleton, Stack, Table, Text } from '@mantine/core';
import type { Agent } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { Problem } from '../pieces/problem.tsx';
import { resourceAddress } from '../pieces/resource-address.ts';
import { useUrlState, type UrlState } from '../pieces/url-state.ts';
import { SyndicationCell } from './syndication-cell.tsx';
import classes from './syndication.module.css';
import { cellKey, labelOf, states, useBoard, type Board, type Syndicated } from './syndicated.ts';

/** Rows are resources, columns are agents. It changes as the service works: nothing is polled. */
export const SyndicationBoard = ({ advertiserId }: { readonly advertiserId: number }) => {
  const [url] = useUrlState();
  const { board, error } = useBoard(advertiserId);
  if (board === undefined) {
    return (
      <>
        <Problem error={error} />
        {!error && <Skeleton height={200} />}
      </>
    );
  }
  const rows = board.rows.filter((row) => isWanted(row, board, url));
  return (
    <Stack>
      <Problem error={error} />
      <Counts board={board} />
      {(board.rows.length === 0 || board.agents.length === 0) && <Missing board={board} />}
      {board.rows.length > 0 && board.agents.length > 0 && rows.length === 0 && (
        <Paper withBorder p="lg">
          <Text>Nothing matches the filters.</Text>
        </Paper>
      )}
      {board.agents.length > 0 && rows.length > 0 && (
        <Grid advertiserId={advertiserId} board={board} rows={rows} />
      )}
      {!board.isWhole && (
        <Text c="dimmed" size="sm">
          The board shows the newest resources only. The list has every delivery.
        </Text>
      )}
    </Stack>
  );
};

const isWanted = ({ type, id }: Syndicated, { agents, records }: Board, url: UrlState): boolean =>
  (url['resourceType'] === undefined || url['resourceType'] === type) &&
  (url['status'] === undefined ||
    agents.some((agent) => records.get(cellKey(type, id, agent.id))?.status === url['status']));

const Missing = ({ board: { rows, agents } }: { readonly board: Board }) => (
  <Paper withBorder p="lg">
    <Stack gap="xs">
      {agents.length === 0 && (
        <Text>
          There is no agent yet. An agent is a seller&apos;s or a platform&apos;s server that takes audiences,
          event sources and catalogs. Register one above; the repository has a sandbox agent (npm run
          sandbox-agent).
        </Text>
      )}
      {rows.length === 0 && (
        <Text>
          There is nothing to send yet. Create an audience above, or an event source on the page Conversions.
        </Text>
      )}
    </Stack>
  </Paper>
);

const Counts = ({ board: { records } }: { readonly board: Board }) => {
  const counts = new Map<string, number>();
  for (const { status } of records.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  return (
    <Group gap="xs" role="status" aria-label="Deliveries by state">
      {states
        .filter((status) => counts.has(status))
        .map((status) => (
          <Group key={status} gap={4}>
            <State of={status} />
            <Text size="sm">{counts.get(status)}</Text>
          </Group>
        ))}
    </Group>
  );
};

interface GridProps {
  readonly advertiserId: number;
  readonly board: Board;
  readonly rows: readonly Syndicated[];
}

const pageOf = ({ type, id }: Syndicated, advertiserId: number): string =>
  resourceAddress({ resourceType: type, resourceId: id, advertiserId }) ?? '';

const Grid = ({ advertiserId, board: { agents, records }, rows }: GridProps) => (
  <Table.ScrollContainer minWidth={0} type="native">
    <Table aria-label="Resources and agents" verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Resource</Table.Th>
          {agents.map((agent) => (
            <Table.Th key={agent.id}>
              <AgentHead agent={agent} />
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={`${row.type} ${row.id}`}>
            <Table.Td className={classes.resource ?? ''}>
              <Go to={pageOf(row, advertiserId)} fw={600}>
                {row.name}
              </Go>
              <Text size="xs" c="dimmed">
                {labelOf(row.type)}, {row.about}
              </Text>
              <CopyId id={row.id} what={`${labelOf(row.type).toLowerCase()} id`} short />
            </Table.Td>
            {agents.map(({ id, name }) => (
              <Table.Td key={id} style={{ verticalAlign: 'top' }}>
                <SyndicationCell
                  advertiserId={advertiserId}
                  resource={row}
                  agentId={id}
                  agentName={name}
                  record={records.get(cellKey(row.type, row.id, id))}
                />
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

const AgentHead = ({ agent: { id, name, status, statusReason } }: { readonly agent: Agent }) => (
  <Stack gap={2} align="flex-start">
    <Go to={`/agents/${id}`} className={classes.resource ?? ''}>
      {name}
    </Go>
    {status === 'UNREACHABLE' && <State of={status} />}
    {statusReason !== undefined && (
      <Text size="xs" className={classes.said ?? ''}>
        {statusReason}
      </Text>
    )}
  </Stack>
);
