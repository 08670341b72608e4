import { Badge, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { ACCOUNT, BUYER, useRead } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import type { User } from '../../api/types.ts';
import { State } from '../../pieces/badge.tsx';
import { ConfirmedWrite } from '../../pieces/confirm.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { ExportMenu } from '../../pieces/export-menu.tsx';
import { TextField, WriteForm } from '../../pieces/form.tsx';
import { Rows, type Column } from '../../pieces/list-table.tsx';
import { Facts, ObjectPage } from '../../pieces/object-page.tsx';
import { Problem } from '../../pieces/problem.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { useUser } from '../../shell/session.tsx';
import { SecondFactor } from './second-factor.tsx';

const path = `${ACCOUNT}/user`;

/** The person's own settings. */
const AccountPage = () => {
  const user = useUser();
  return (
    <ObjectPage
      title="Your account"
      mark={<State of={user.role} />}
      about={<CopyId id={user.id} what="user id" />}
      path={path}
      data={user}
      historyPath={`${BUYER}/users/${user.id}`}
      hasAsOf={false}
      hasHistory={user.role === 'admin'}
      tabs={[
        { name: 'you', label: 'You', content: () => <You user={user} /> },
        { name: 'security', label: 'Password and second factor', content: () => <Security user={user} /> },
        { name: 'sessions', label: 'Sessions', content: () => <Sessions /> },
      ]}
    />
  );
};

const You = ({ user }: { readonly user: User }) => {
  const { data: account } = useRead<Schema<'CurrentAccount'>>(ACCOUNT);
  return (
    <Facts
      facts={[
        ['Name', user.name],
        [
          'E-mail',
          <Group key="email" gap="xs">
            {user.email}
            {!user.emailVerified && <Badge color="yellow">not confirmed</Badge>}
          </Group>,
        ],
        ['Role', user.role],
        ['Company', account?.company],
        ['Domain', account?.customerDomain],
        [
          'Account',
          account === undefined ? undefined : <CopyId key="id" id={account.id} what="account id" />,
        ],
      ]}
    />
  );
};

const Security = ({ user }: { readonly user: User }) => {
  const [isChanged, setChanged] = useState(false);
  return (
    <Stack maw={480} gap="xl">
      <Stack>
        <Title order={2} size="h4">
          Password
        </Title>
        {isChanged && <Text role="status">Your password is changed. Your other sessions have ended.</Text>}
        <WriteForm
          submit="Change the password"
          requestOf={({ currentPassword, newPassword }) => ({
            method: 'POST',
            path: '/auth/password',
            body: { currentPassword, newPassword },
          })}
          onDone={(_, form) => {
            form.reset();
            setChanged(true);
          }}
        >
          {/* So that a password manager knows whose password it is. */}
          <input type="email" autoComplete="username" value={user.email} readOnly hidden />
          <TextField
            name="currentPassword"
            label="Current password"
            type="password"
            required
            autoComplete="current-password"
          />
          <TextField
            name="newPassword"
            label="New password"
            description="At least 12 characters."
            type="password"
            required
            minLength={12}
            autoComplete="new-password"
          />
        </WriteForm>
      </Stack>
      <SecondFactor user={user} />
    </Stack>
  );
};

type Session = Schema<'Session'>;

const SESSIONS = `${ACCOUNT}/sessions`;

const columns: readonly Column<Session>[] = [
  {
    title: 'Browser',
    text: ({ agent }) => agent,
    cell: ({ agent, isCurrent }) => (
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {isCurrent && <b>This browser </b>}
        {agent}
      </Text>
    ),
  },
  { title: 'Network', text: ({ addressPrefix }) => addressPrefix, wide: true },
  { title: 'Signed in with', text: ({ method }) => method, wide: true },
  timeColumn('Signed in', ({ createdAt }) => createdAt),
  timeColumn('Last seen', ({ lastSeenAt }) => lastSeenAt, { wide: false }),
  {
    title: 'Action',
    text: () => undefined,
    cell: ({ id, isCurrent, agent = 'the session' }) =>
      !isCurrent && (
        <ConfirmedWrite
          label="End"
          of={agent}
          size="compact-sm"
          title="End this session?"
          call={{ method: 'DELETE', path: `${SESSIONS}/${id}` }}
        >
          The browser is signed out at once.
        </ConfirmedWrite>
      ),
  },
];

const Sessions = () => {
  const { data, error } = useRead<readonly Session[]>(SESSIONS);
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Skeleton height={120} />;
  return (
    <Stack gap="sm">
      <Group justify="flex-end">
        <ExportMenu name="sessions" columns={columns} read={() => Promise.resolve(data)} isOff={false} />
      </Group>
      <Rows name="sessions" rows={data} columns={columns} rowKey={({ id }) => id} />
      {data.length > 1 && (
        <Group>
          <ConfirmedWrite
            label="End all other sessions"
            title="End all other sessions?"
            call={{ method: 'DELETE', path: SESSIONS }}
            onDone={() => notifications.show({ message: 'All other sessions have ended.' })}
          >
            Every other browser is signed out at once.
          </ConfirmedWrite>
        </Group>
      )}
    </Stack>
  );
};

export default AccountPage;
