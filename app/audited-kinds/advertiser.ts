import { z } from 'zod';
import { advertiserAggregate, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { advertiserList, advertiserRead } from '../../query/advertisers/routes.ts';
import { auditedKind } from '../../query/history/audited-kind.ts';
import { buyer, advertiserId, lastFirst } from './places.ts';

/** State and resource of an advertiser are one shape. */
export const advertiserKind = auditedKind({
  ...advertiserAggregate,
  resourceType: 'ADVERTISER',
  noun: 'advertiser',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ id }) => String(id),
  streamsOf: (customerId, shown) => [advertiserStream(customerId, Number(shown))],
  audited: (advertiser) => advertiser,
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/advertisers/{id}`,
    params: z.object({ id: advertiserId }),
    tag: 'Advertisers',
    find: (customerId, { id }) => ({ stream: advertiserStream(customerId, Number(id)) }),
  },
  details: [{ route: advertiserRead, shown: (advertiser) => advertiser }],
  lists: [
    {
      route: advertiserList,
      whole: { parameter: 'status', value: 'ALL' },
      narrower: 'Ask for all of them, page by page, with status=ALL.',
      shown: (page) => page,
      keeps: ({ status }, { status: wanted }) => wanted === 'ALL' || status === 'ACTIVE',
      order: lastFirst(
        ({ createdAt }) => createdAt,
        ({ id }) => id,
      ),
    },
  ],
});
