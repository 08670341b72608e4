import { Group, NativeSelect, Stack } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { BUYER, useWrite } from '../../api/query.ts';
import { State } from '../../pieces/badge.tsx';
import { ConfirmedWrite } from '../../pieces/confirm.tsx';
import { ListedObject } from '../../pieces/listed-object.tsx';
import { Problem } from '../../pieces/problem.tsx';
import { Time } from '../../pieces/time.tsx';
import { useUser } from '../../shell/session.tsx';
import { MEMBERS, type Member } from './members.tsx';

const MemberPage = () => {
  const { role } = useUser();
  return (
    <ListedObject<Member>
      noun="member"
      listPath={MEMBERS}
      idOf={({ id }) => id}
      historyPath={(id) => `${BUYER}/users/${id}`}
      titleOf={({ name }) => name}
      mark={(member) => <State of={member.role} />}
      actions={(member) => role === 'admin' && <MemberActions member={member} />}
      facts={({ email, lastSignInAt, createdAt }) => [
        ['E-mail', email],
        ['Last sign-in', <Time key="last" at={lastSignInAt} />],
        ['Member since', <Time key="created" at={createdAt} />],
      ]}
    />
  );
};

const MemberActions = ({ member }: { readonly member: Member }) => {
  const navigate = useNavigate();
  const path = `${MEMBERS}/${member.id}`;
  const change = useWrite<Member, string>((role) => ({ method: 'PUT', path, body: { role } }));
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        <NativeSelect
          aria-label="Role"
          value={change.isPending ? change.variables : member.role}
          data={['admin', 'member']}
          onChange={({ currentTarget }) => change.mutate(currentTarget.value)}
        />
        <ConfirmedWrite
          label="Remove"
          title={`Remove ${member.name}?`}
          call={{ method: 'DELETE', path }}
          onDone={() => void navigate({ to: '/members' })}
        >
          Their sessions, API keys and connected apps end at once, and their e-mail address is deleted. What
          they did stays in the histories.
        </ConfirmedWrite>
      </Group>
      <Problem error={change.error} />
    </Stack>
  );
};

export default MemberPage;
