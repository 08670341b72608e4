import { z } from 'zod';
import { CATALOG } from '../domain/catalogs/catalog.ts';
import { CATALOG_FEED } from '../domain/catalogs/work.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { requestWorkAgain, requestWork, type WorkRequest } from '../shared/work-list/request-work.ts';
import { byStream } from './engine/fold-streams.ts';
import type { Projection } from './engine/projection.ts';
import { UUID_STREAM } from './folded-rows.ts';

interface Change extends WorkRequest {
  readonly isAsked: boolean;
}

/** A named feed is due at once. Workers say when it is due again, and drop catalogs without a feed. */
export const catalogFeedsProjection: Projection = {
  name: 'catalog-feeds',
  categories: [CATALOG],
  tables: [],
  work: [CATALOG_FEED],
  apply: async (client, events) => {
    const changes = [...byStream(events)].flatMap(changeOf);
    await requestWork(
      client,
      CATALOG_FEED,
      changes.filter(({ isAsked }) => isAsked),
    );
    await requestWorkAgain(
      client,
      CATALOG_FEED,
      changes.filter(({ isAsked }) => !isAsked),
    );
  },
};

const NamesFeed = z.object({ definition: z.object({ content: z.object({ kind: z.literal('feed') }) }) });

const isAsking = ({ type, data }: RecordedEvent): boolean =>
  type === 'CatalogFeedAsked' || (type === 'CatalogPublished' && NamesFeed.safeParse(data).success);

/** Uses the last event that starts or ends the reading; results of reads do neither. */
const changeOf = ([stream, events]: readonly [string, readonly RecordedEvent[]]): readonly Change[] => {
  const [, customerId, key] = UUID_STREAM.exec(stream) ?? [];
  const last = events.findLast(({ type }) => type !== 'CatalogFeedRead' && type !== 'CatalogFeedFailed');
  if (customerId === undefined || key === undefined || last === undefined) return [];
  return [{ customerId: Number(customerId), key, revision: last.revision, isAsked: isAsking(last) }];
};
