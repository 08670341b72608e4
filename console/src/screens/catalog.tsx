import { useParams } from '@tanstack/react-router';
import type { Catalog } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { Go } from '../pieces/go.tsx';
import { ListedObject } from '../pieces/listed-object.tsx';
import { Time } from '../pieces/time.tsx';
import { advertiserPath } from './syndicated.ts';

const CatalogPage = () => {
  const { advertiserId = '' } = useParams({ strict: false });
  const path = `${advertiserPath(advertiserId)}/catalogs`;
  return (
    <ListedObject<Catalog>
      noun="catalog"
      listPath={path}
      itemsOf={(data) => (data as { readonly catalogs: readonly Catalog[] }).catalogs}
      idOf={({ catalogId }) => catalogId}
      historyPath={(id) => `${path}/${encodeURIComponent(id)}`}
      isForAll
      titleOf={({ name }) => name}
      mark={({ status }) => <State of={status} />}
      facts={({ type, url, feed, itemCount, version, createdAt, updatedAt }) => [
        ['Type', type],
        url === undefined ? ['Items', itemCount.toLocaleString()] : ['Feed', url],
        feed !== undefined && ['Feed was read', feed.errorMessage ?? <Time key="read" at={feed.readAt} />],
        ['Version', version],
        [
          'Agents',
          <Go key="agents" to={`/syndication?advertiserId=${advertiserId}&resourceType=CATALOG`}>
            On the board
          </Go>,
        ],
        ['Created', <Time key="created" at={createdAt} />],
        ['Changed', <Time key="changed" at={updatedAt} />],
      ]}
    />
  );
};

export default CatalogPage;
