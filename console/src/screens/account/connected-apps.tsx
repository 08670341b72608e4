import { Text } from '@mantine/core';
import { ACCOUNT } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { ConfirmedWrite } from '../../pieces/confirm.tsx';
import { Go } from '../../pieces/go.tsx';
import { ListTable, type Column } from '../../pieces/list-table.tsx';
import { Page } from '../../pieces/page.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { MemberName } from './member-name.tsx';
import { Scopes } from './scopes.tsx';

export type ConnectedApp = Schema<'ConnectedApp'>;

export const CONNECTED_APPS = `${ACCOUNT}/connected-apps`;

export const RevokeApp = ({ app: { grantId, client } }: { readonly app: ConnectedApp }) => (
  <ConfirmedWrite
    label="Revoke"
    of={client.name}
    size="compact-sm"
    title={`Revoke the access of ${client.name}?`}
    call={{ method: 'DELETE', path: `${CONNECTED_APPS}/${grantId}` }}
  >
    Its tokens are refused from their next request on. It has access again only after a person allows it
    again.
  </ConfirmedWrite>
);

const columns: readonly Column<ConnectedApp>[] = [
  {
    title: 'App',
    text: ({ client }) => client.name,
    cell: ({ grantId, client }) => (
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        <Go to={`/connected-apps/${grantId}`}>{client.name}</Go>
        <Text size="xs" c="dimmed">
          {client.host ?? 'the app chose this name itself'}
        </Text>
      </Text>
    ),
  },
  {
    title: 'May',
    text: ({ scopes }) => scopes.join(' '),
    cell: ({ scopes }) => <Scopes of={scopes} />,
    wide: true,
  },
  {
    title: 'For',
    text: ({ userId }) => userId,
    cell: ({ userId }) => <MemberName id={userId} />,
    wide: true,
  },
  timeColumn('Since', ({ createdAt }) => createdAt),
  timeColumn('Last used', ({ lastUsedAt }) => lastUsedAt, { wide: false }),
  { title: 'Action', text: () => undefined, cell: (app) => <RevokeApp app={app} /> },
];

const ConnectedApps = () => (
  <Page
    title="Connected apps"
    about="Apps and agents that a person has allowed to act for them. Admins see those of all members."
  >
    <ListTable<ConnectedApp>
      name="connected apps"
      path={CONNECTED_APPS}
      columns={columns}
      rowKey={({ grantId }) => grantId}
      empty={
        <Text>
          No app has access. An agent that speaks MCP gets it when you add {location.origin}/mcp to it and
          allow what it asks for.
        </Text>
      }
    />
  </Page>
);

export default ConnectedApps;
