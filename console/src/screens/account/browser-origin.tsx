import { ListedObject } from '../../pieces/listed-object.tsx';
import { Time } from '../../pieces/time.tsx';
import { ORIGINS, originsOf, RemoveOrigin, type BrowserOrigin } from './browser-origins.tsx';
import { MemberName } from './member-name.tsx';

const BrowserOriginPage = () => (
  <ListedObject<BrowserOrigin>
    noun="browser origin"
    listPath={ORIGINS}
    query={{}}
    itemsOf={originsOf}
    idOf={({ id }) => id}
    historyPath={(id) => `${ORIGINS}/${id}`}
    titleOf={({ origin }) => origin}
    actions={(origin) => <RemoveOrigin origin={origin} />}
    facts={({ label, createdByUserId, createdAt }) => [
      ['Label', label],
      ['Registered by', <MemberName key="by" id={createdByUserId} />],
      ['Registered', <Time key="created" at={createdAt} />],
    ]}
  />
);

export default BrowserOriginPage;
