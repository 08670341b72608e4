import { State } from '../../pieces/badge.tsx';
import { ListedObject } from '../../pieces/listed-object.tsx';
import { Time } from '../../pieces/time.tsx';
import { API_KEYS, RevokeKey, type ApiKey } from './api-keys.tsx';
import { Scopes } from './scopes.tsx';

const ApiKeyPage = () => (
  <ListedObject<ApiKey>
    noun="API key"
    listPath={API_KEYS}
    idOf={({ id }) => id}
    historyPath={(id) => `${API_KEYS}/${id}`}
    titleOf={({ name }) => name}
    mark={({ status }) => <State of={status} />}
    actions={(apiKey) => <RevokeKey apiKey={apiKey} />}
    facts={({ maskedKey, scopes, lastUsedAt, expiresAt, createdAt }) => [
      ['Key', <code key="key">{maskedKey}</code>],
      ['Scopes', <Scopes key="scopes" of={scopes} />],
      ['Last used', <Time key="used" at={lastUsedAt} />],
      ['Expires', expiresAt === undefined ? 'never' : <Time key="expires" at={expiresAt} />],
      ['Created', <Time key="created" at={createdAt} />],
    ]}
  />
);

export default ApiKeyPage;
