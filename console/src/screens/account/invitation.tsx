import { State } from '../../pieces/badge.tsx';
import { ListedObject } from '../../pieces/listed-object.tsx';
import { Time } from '../../pieces/time.tsx';
import { INVITATIONS, RevokeInvitation, type Invitation } from './members.tsx';

const InvitationPage = () => (
  <ListedObject<Invitation>
    noun="invitation"
    listPath={INVITATIONS}
    idOf={({ id }) => id}
    historyPath={(id) => `${INVITATIONS}/${id}`}
    titleOf={({ email }) => email}
    mark={({ status }) => <State of={status} />}
    actions={(invitation) => <RevokeInvitation invitation={invitation} />}
    facts={({ role, createdAt, expiresAt }) => [
      ['Role', role],
      ['Sent', <Time key="created" at={createdAt} />],
      ['Ends', <Time key="expires" at={expiresAt} />],
    ]}
  />
);

export default InvitationPage;
