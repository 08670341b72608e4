import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { BUYER, useRead } from '../api/query.ts';
import type { AuditEntry, CausedByRequest, CauseNode } from '../api/types.ts';
import { State } from './badge.tsx';
import { Who } from './changes.tsx';
import { CopyId, shortened } from './copy-id.tsx';
import { Go } from './go.tsx';
import { Problem } from './problem.tsx';
import { resourceAddress } from './resource-address.ts';
import classes from './pieces.module.css';
import { Time } from './time.tsx';

/** The whole tree of what one request has caused: changes, jobs, and calls of agents. For admins. */
export const Causes = ({ requestId }: { readonly requestId: string }) => {
  const { data, error } = useRead<CausedByRequest>(`${BUYER}/requests/${encodeURIComponent(requestId)}`, {
    take: 200,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Skeleton height={120} />;
  return (
    <Stack>
      <Text size="sm" component="div">
        Request <CopyId id={requestId} what="request id" />
      </Text>
      <Nodes nodes={data.causes} />
      {data.refused.map((entry) => (
        <Entry key={entry.id} entry={entry} />
      ))}
      {data.nextAfter !== undefined && (
        <Text c="dimmed">The first 200 events. The rest is in the audit log.</Text>
      )}
    </Stack>
  );
};

const Nodes = ({ nodes }: { readonly nodes: readonly CauseNode[] }) => (
  <ul className={classes.tree ?? ''}>
    {nodes.map((node) => (
      <li key={node.id}>
        <Node node={node} />
        {node.kind !== 'agentCall' && node.followedBy.length > 0 && <Nodes nodes={node.followedBy} />}
      </li>
    ))}
  </ul>
);

const Node = ({ node }: { readonly node: CauseNode }) => {
  if (node.kind === 'agentCall') {
    return (
      <Group gap="xs" py={4}>
        <Text size="sm">
          call of agent <Go to={`/agents/${node.adcpAgentId}`}>{shortened(node.adcpAgentId)}</Go>: {node.task}
        </Text>
        <State of={node.status} />
        {node.errorMessage !== undefined && <Text size="sm">{node.errorMessage}</Text>}
        <Text size="sm" c="dimmed">
          <Time at={node.endedAt ?? node.askedAt} />
        </Text>
      </Group>
    );
  }
  return (
    <Stack gap={2} py={4}>
      <Group gap="xs">
        {node.kind === 'job' ? (
          <>
            <Text size="sm">
              job {node.worker} {node.work}
            </Text>
            <State of={node.status} />
            {node.errorMessage !== undefined && <Text size="sm">{node.errorMessage}</Text>}
          </>
        ) : (
          <Text size="sm">
            <Who of={node} />
          </Text>
        )}
      </Group>
      {node.events.map((entry) => (
        <Entry key={entry.id} entry={entry} />
      ))}
    </Stack>
  );
};

const Entry = ({ entry }: { readonly entry: AuditEntry }) => {
  const to = resourceAddress(entry);
  const name = entry.resourceName ?? entry.resourceId ?? '';
  return (
    <Group gap="xs">
      <Text size="sm" fw={600}>
        {entry.action}
      </Text>
      {to === undefined ? (
        <Text size="sm">{name}</Text>
      ) : (
        <Go size="sm" to={to}>
          {name}
        </Go>
      )}
      {entry.outcome !== 'success' && <State of={entry.outcome} />}
      <Text size="sm" c="dimmed">
        <Time at={entry.timestamp} />
      </Text>
    </Group>
  );
};
