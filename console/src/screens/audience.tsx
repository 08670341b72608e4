import { useParams } from '@tanstack/react-router';
import type { Audience } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { Go } from '../pieces/go.tsx';
import { ListedObject } from '../pieces/listed-object.tsx';
import { Time } from '../pieces/time.tsx';
import { advertiserPath } from './syndicated.ts';

const AudiencePage = () => {
  const { advertiserId = '' } = useParams({ strict: false });
  const path = `${advertiserPath(advertiserId)}/audiences`;
  return (
    <ListedObject<Audience>
      noun="audience"
      listPath={path}
      itemsOf={(data) => (data as { readonly audiences: readonly Audience[] }).audiences}
      idOf={({ audienceId }) => audienceId}
      historyPath={(id) => `${path}/${encodeURIComponent(id)}`}
      isForAll
      titleOf={({ name }) => name}
      mark={({ status }) => <State of={status} />}
      facts={({ uploadedCount, matchedCount, consentBasis, createdAt, updatedAt }) => [
        ['Members', uploadedCount.toLocaleString()],
        ['Matched by agents', matchedCount.toLocaleString()],
        ['Consent', consentBasis],
        [
          'Agents',
          <Go key="agents" to={`/syndication?advertiserId=${advertiserId}&resourceType=AUDIENCE`}>
            On the board
          </Go>,
        ],
        ['Created', <Time key="created" at={createdAt} />],
        ['Changed', <Time key="changed" at={updatedAt} />],
      ]}
    />
  );
};

export default AudiencePage;
