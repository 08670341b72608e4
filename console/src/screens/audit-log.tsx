import { Alert, Text } from '@mantine/core';
import { BUYER } from '../api/query.ts';
import type { AuditEntry, AuditLogs } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { Who } from '../pieces/changes.tsx';
import { CopyId, shortened } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { ListTable, type Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { resourceAddress } from '../pieces/resource-address.ts';
import { timeColumn } from '../pieces/time-column.tsx';
import { useUser } from '../shell/session.tsx';

const requestOf = ({ parameters }: AuditEntry): string | undefined => {
  const id = parameters['correlationId'] ?? parameters['requestId'];
  return typeof id === 'string' ? id : undefined;
};

const columns: readonly Column<AuditEntry>[] = [
  timeColumn('When', ({ timestamp }) => timestamp, { wide: false }),
  { title: 'What', text: ({ action }) => action },
  {
    title: 'Of what',
    text: ({ resourceName, resourceId }) => resourceName ?? resourceId,
    cell: (entry) => {
      const to = resourceAddress(entry);
      const { resourceName, resourceId, resourceType } = entry;
      return (
        <Text size="sm" component="div" style={{ overflowWrap: 'break-word' }}>
          {to === undefined ? (
            (resourceName ??
            (resourceId !== undefined && <CopyId id={resourceId} what={`${resourceType} id`} short />))
          ) : (
            <Go to={to} title={resourceId ?? ''}>
              {resourceName ?? shortened(resourceId ?? '')}
            </Go>
          )}
          <Text size="xs" c="dimmed">
            {resourceType}
          </Text>
        </Text>
      );
    },
  },
  {
    title: 'Who',
    text: ({ userEmail, actor }) => userEmail ?? actor,
    cell: (entry) => <Who of={entry} />,
    wide: true,
  },
  {
    title: 'Outcome',
    text: ({ outcome }) => outcome,
    cell: ({ outcome }) => <State of={outcome} />,
    wide: true,
  },
  {
    title: 'Effects',
    text: (entry) => requestOf(entry),
    cell: (entry) => {
      const id = requestOf(entry);
      return id === undefined ? '' : <Go to={`/requests/${encodeURIComponent(id)}`}>Tree</Go>;
    },
  },
];

const types =
  'ACCOUNT,ADCP_AGENT,ADVERTISER,API_KEY,ASSET,AUDIENCE,BROWSER_ORIGIN,CAMPAIGN,CATALOG,CONNECTED_APP,CONVERSIONS,CREATIVE,CREATIVE_SESSION,ENGINE_CONNECTION,EVENT_SOURCE,INVITATION,PROPOSAL_REQUEST,SESSION,SYNDICATION,TASK,USER,WEBHOOK_SUBSCRIPTION'.split(
    ',',
  );

const filters = [
  { name: 'startDate', label: 'From', type: 'date' },
  { name: 'endDate', label: 'To', type: 'date' },
  {
    name: 'resourceTypes',
    label: 'Type',
    choices: [['', 'All'], ...types.map((type) => [type, type] as const)],
  },
  { name: 'resourceId', label: 'Resource id' },
  { name: 'actions', label: 'Action', example: 'CampaignUpdated' },
  {
    name: 'outcome',
    label: 'Outcome',
    choices: [
      ['', 'All'],
      ['success', 'success'],
      ['denied', 'denied'],
      ['failed', 'failed'],
    ],
  },
] as const;

const AuditLog = () => {
  const { role } = useUser();
  return (
    <Page title="Audit log" about="Who did what, and what was refused, newest first.">
      {role === 'admin' ? (
        <ListTable<AuditEntry>
          name="entries"
          path={`${BUYER}/audit-logs`}
          columns={columns}
          rowKey={({ id }) => id}
          filters={filters}
          rowsOf={(data) => (data as AuditLogs).logs}
          empty={<Text>Nothing has happened yet.</Text>}
        />
      ) : (
        <Alert>The audit log is for admins of the account.</Alert>
      )}
    </Page>
  );
};

export default AuditLog;
