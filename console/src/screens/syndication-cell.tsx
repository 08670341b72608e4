import { Button, Group, Stack, Switch, Text } from '@mantine/core';
import { problemOf } from '../api/call.ts';
import { useWrite } from '../api/query.ts';
import type { SyndicationRecord } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { Go } from '../pieces/go.tsx';
import { Time } from '../pieces/time.tsx';
import classes from './syndication.module.css';
import { advertiserPath, type Syndicated } from './syndicated.ts';

interface ToggleInput {
  readonly resource: Pick<Syndicated, 'type' | 'id'>;
  readonly agentId: string;
  readonly enabled: boolean;
}

/** Switches on or off; on again after a failure is another try. The service answers at once, workers do the rest. */
export const useToggle = (advertiserId: number | string) =>
  useWrite<readonly SyndicationRecord[], ToggleInput>(
    ({ resource: { type, id }, agentId, enabled }) => ({
      method: 'POST',
      path: `${advertiserPath(advertiserId)}/syndicate`,
      body: { resourceType: type, resourceId: id, adcpAgentIds: [agentId], enabled },
    }),
    [advertiserPath(advertiserId)],
  );

/** What the agent still does, or has said, in one line. */
const said = ({ status, errorMessage, completedAt, responseData }: SyndicationRecord): string => {
  if (errorMessage !== null) return status === 'FAILED' ? errorMessage : `Tried again after: ${errorMessage}`;
  if (status === 'PENDING') return 'Waits for its turn';
  if (status === 'SYNCING') return 'Sent; the agent has not confirmed it yet';
  if (status === 'DISABLED') {
    return responseData === null ? 'Switched off' : 'Switched off; the agent has answered';
  }
  return completedAt === null ? '' : 'The agent has it';
};

interface Props {
  readonly advertiserId: number;
  readonly resource: Syndicated;
  readonly agentId: string;
  readonly agentName: string;
  readonly record: SyndicationRecord | undefined;
}

export const SyndicationCell = ({ advertiserId, resource, agentId, agentName, record }: Props) => {
  const toggle = useToggle(advertiserId);
  const set = (enabled: boolean): void => toggle.mutate({ resource, agentId, enabled });
  return (
    <Stack gap={4} align="flex-start" className={classes.cell ?? ''}>
      <Group gap="xs" wrap="nowrap">
        <Switch
          size="sm"
          checked={toggle.isPending ? toggle.variables.enabled : (record?.enabled ?? false)}
          onChange={({ currentTarget }) => set(currentTarget.checked)}
          aria-label={`Send ${resource.name} to ${agentName}`}
        />
        {record === undefined ? (
          <Text size="sm" c="dimmed">
            not sent
          </Text>
        ) : (
          <State of={record.status} />
        )}
      </Group>
      {record !== undefined && (
        <Text size="xs" className={classes.said ?? ''}>
          {said(record)}
        </Text>
      )}
      {record !== undefined && (
        <Group gap="xs">
          <Text size="xs">
            <Go
              to={`/syndication/${advertiserId}/${record.id}`}
              aria-label={`Details of ${resource.name} at ${agentName}`}
            >
              <Time at={record.updatedAt} relative />
            </Go>
          </Text>
          {record.status === 'FAILED' && (
            <Button
              size="compact-xs"
              variant="default"
              loading={toggle.isPending}
              onClick={() => set(true)}
              aria-label={`Send ${resource.name} to ${agentName} again`}
            >
              Try again
            </Button>
          )}
        </Group>
      )}
      {toggle.error !== null && (
        <Text size="xs" role="alert" className={classes.refused ?? ''}>
          {problemOf(toggle.error).message}
        </Text>
      )}
    </Stack>
  );
};
