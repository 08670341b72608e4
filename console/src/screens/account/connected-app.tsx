import { ListedObject } from '../../pieces/listed-object.tsx';
import { Time } from '../../pieces/time.tsx';
import { CONNECTED_APPS, RevokeApp, type ConnectedApp } from './connected-apps.tsx';
import { MemberName } from './member-name.tsx';
import { Scopes } from './scopes.tsx';

const ConnectedAppPage = () => (
  <ListedObject<ConnectedApp>
    noun="connected app"
    listPath={CONNECTED_APPS}
    idOf={({ grantId }) => grantId}
    historyPath={(id) => `${CONNECTED_APPS}/${id}`}
    titleOf={({ client }) => client.name}
    actions={(app) => <RevokeApp app={app} />}
    facts={({ client, userId, scopes, resources, createdAt, expiresAt, lastUsedAt }) => [
      ['Publisher', client.host ?? 'unknown: the app chose its name itself'],
      ['Client', client.id],
      ['Acts for', <MemberName key="user" id={userId} />],
      ['Granted', <Scopes key="scopes" of={scopes} />],
      ['At', resources.join(', ')],
      ['Since', <Time key="created" at={createdAt} />],
      ['Ends', <Time key="expires" at={expiresAt} />],
      ['Last used', <Time key="used" at={lastUsedAt} />],
    ]}
  />
);

export default ConnectedAppPage;
