import { advertiserFold, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import { lastFirst } from '../resources/resource-paths.ts';
import { advertiserList, advertiserPlace, advertiserRead } from './routes.ts';

export const advertiserKind = auditedKind({
  ...advertiserFold,
  resourceType: 'ADVERTISER',
  noun: 'advertiser',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ id }) => String(id),
  streamsOf: (customerId, shown) => [advertiserStream(customerId, Number(shown))],
  audited: (advertiser) => advertiser,
  nameOf: ({ name }) => name,
  place: {
    ...advertiserPlace,
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
