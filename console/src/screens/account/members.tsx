import { Button, Drawer, Tabs, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { ACCOUNT } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { State } from '../../pieces/badge.tsx';
import { ConfirmedWrite } from '../../pieces/confirm.tsx';
import { SelectField, TextField, WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { ListTable, type Column } from '../../pieces/list-table.tsx';
import { Page } from '../../pieces/page.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { useUrlState } from '../../pieces/url-state.ts';
import { useUser } from '../../shell/session.tsx';

export type Member = Schema<'Member'>;
export type Invitation = Schema<'Invitation'>;

export const MEMBERS = `${ACCOUNT}/members`;
export const INVITATIONS = `${ACCOUNT}/invitations`;

export const RevokeInvitation = ({ invitation: { id, email } }: { readonly invitation: Invitation }) => (
  <ConfirmedWrite
    label="Revoke"
    of={email}
    size="compact-sm"
    title={`Revoke the invitation of ${email}?`}
    call={{ method: 'DELETE', path: `${INVITATIONS}/${id}` }}
  >
    The link in its mail stops working.
  </ConfirmedWrite>
);

const memberColumns: readonly Column<Member>[] = [
  {
    title: 'Name',
    text: ({ name }) => name,
    cell: ({ id, name }) => <Go to={`/members/${id}`}>{name}</Go>,
  },
  { title: 'E-mail', text: ({ email }) => email, wide: true },
  { title: 'Role', text: ({ role }) => role, cell: ({ role }) => <State of={role} /> },
  timeColumn('Last sign-in', ({ lastSignInAt }) => lastSignInAt, { wide: false }),
  timeColumn('Since', ({ createdAt }) => createdAt),
];

const invitationColumns: readonly Column<Invitation>[] = [
  {
    title: 'E-mail',
    text: ({ email }) => email,
    cell: ({ id, email }) => <Go to={`/invitations/${id}`}>{email}</Go>,
  },
  { title: 'Role', text: ({ role }) => role, cell: ({ role }) => <State of={role} />, wide: true },
  { title: 'Status', text: ({ status }) => status, cell: ({ status }) => <State of={status} /> },
  timeColumn('Ends', ({ expiresAt }) => expiresAt),
  { title: 'Action', text: () => undefined, cell: (one) => <RevokeInvitation invitation={one} /> },
];

const Members = () => {
  const [url, change] = useUrlState();
  const [isOpen, { open, close }] = useDisclosure();
  const isAdmin = useUser().role === 'admin';
  const tab = isAdmin && url['tab'] === 'invitations' ? 'invitations' : 'members';
  return (
    <Page
      title="Members"
      about="The people of the account. Admins also manage keys, members and settings."
      actions={isAdmin && <Button onClick={open}>Invite a person</Button>}
    >
      <Tabs
        value={tab}
        onChange={(next) =>
          change({ tab: next === 'members' ? undefined : (next ?? undefined), page: undefined })
        }
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="members">Members</Tabs.Tab>
          {isAdmin && <Tabs.Tab value="invitations">Invitations</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="members">
          <ListTable<Member>
            name="members"
            path={MEMBERS}
            columns={memberColumns}
            rowKey={({ id }) => id}
            empty={<Text>The account has no members.</Text>}
          />
        </Tabs.Panel>
        <Tabs.Panel value="invitations">
          <ListTable<Invitation>
            name="invitations"
            path={INVITATIONS}
            columns={invitationColumns}
            rowKey={({ id }) => id}
            empty={<Text>No invitation is open. A link works for seven days.</Text>}
          />
        </Tabs.Panel>
      </Tabs>
      <Drawer opened={isOpen} onClose={close} title="Invite a person">
        <Invite
          onDone={() => {
            close();
            change({ tab: 'invitations', page: undefined });
          }}
        />
      </Drawer>
    </Page>
  );
};

const Invite = ({ onDone }: { readonly onDone: () => void }) => (
  <WriteForm<Invitation>
    submit="Send the invitation"
    requestOf={({ email, role }) => ({ method: 'POST', path: INVITATIONS, body: { email, role } })}
    onDone={({ data }) => {
      notifications.show({ message: `The invitation is on its way to ${data.email}.` });
      onDone();
    }}
  >
    <TextField name="email" label="E-mail address" type="email" required autoComplete="off" data-autofocus />
    <SelectField
      name="role"
      label="Role"
      data={[
        { value: 'member', label: 'member: works with campaigns' },
        { value: 'admin', label: 'admin: also manages keys and members' },
      ]}
    />
  </WriteForm>
);

export default Members;
