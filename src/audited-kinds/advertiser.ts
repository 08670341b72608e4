import { z } from 'zod';
import { advertiserEvents } from '../domain/advertisers/advertiser-events.ts';
import { advertiserDecider, advertiserStream } from '../domain/advertisers/advertiser.ts';
import { advertiserList, advertiserRead } from '../query/advertisers/routes.ts';
import { auditedKind } from '../query/history/audited-kind.ts';
import { buyer, advertiserId, lastFirst, nameHas } from './places.ts';

/** State and resource of an advertiser are one shape. */
export const advertiserKind = auditedKind({
  category: 'advertiser',
  resourceType: 'ADVERTISER',
  noun: 'advertiser',
  events: advertiserEvents,
  decider: advertiserDecider,
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
      isEverything: ({ status, name, sandbox }) =>
        status === 'ALL' && name === undefined && sandbox === undefined,
      narrower: 'Ask for all of them, page by page, with status=ALL and no other filter.',
      shown: (page) => page,
      keeps: ({ status, name, sandbox }, { status: wanted = 'ACTIVE', ...asked }) =>
        (wanted === 'ALL' || status === wanted) &&
        (asked['sandbox'] === undefined || sandbox === asked['sandbox']) &&
        nameHas(name, asked['name']),
      order: lastFirst(
        ({ createdAt }) => createdAt,
        ({ id }) => id,
      ),
    },
  ],
});
