import { z } from 'zod';
import { audienceEvents, type AudienceEvent } from '../../domain/audiences/events.ts';
import { audienceResource, SIZES_KEPT_DAYS, type Audience } from '../../domain/audiences/resource.ts';
import { AUDIENCE, audienceFold, audienceStream } from '../../domain/audiences/audience.ts';
import { findAudienceSizes } from './find-audience-sizes.ts';
import { audiencesTable } from './list.ts';
import { audienceList } from './routes.ts';
import { auditedKind, type AuditedKind } from '../resources/audited-kind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import {
  buyer,
  advertiserId,
  byKey,
  lastFirst,
  listedOfAdvertiser,
  streamsByKey,
} from '../resources/resource-paths.ts';

interface AudiencePast {
  readonly audience: Audience | undefined;
  readonly revision: number;
}

const { initialState: noAudience, evolve: evolveAudience } = audienceFold;

/** Members are personal data, so not in the history. The revision finds their number (`audience_sizes`). */
export const audienceKind = (reads: ResourceReads): AuditedKind =>
  auditedKind({
    category: AUDIENCE,
    resourceType: 'AUDIENCE',
    noun: 'audience',
    events: audienceEvents,
    initialState: { audience: undefined, revision: -1 },
    evolve: ({ audience, revision }: AudiencePast, event: AudienceEvent): AudiencePast => {
      const next = evolveAudience(audience ?? noAudience, event);
      return { audience: next.status === 'NONE' ? undefined : next, revision: revision + 1 };
    },
    live: ({ audience, revision }) => (audience === undefined ? undefined : { audience, revision }),
    idOf: ({ audience }) => audience.key,
    streamsOf: streamsByKey(AUDIENCE, audienceStream),
    keyedIn: audiencesTable,
    audited: ({ audience }) => {
      const { customerId: _, key, lastChange: _change, ...shown } = audience;
      return { ...shown, audienceId: key };
    },
    nameOf: ({ audience }) => audience.name,
    place: {
      path: `${buyer}/advertisers/{id}/audiences/{audienceId}`,
      params: z.object({ id: advertiserId, audienceId: pathTextId('audience') }),
      tag: 'Audiences',
      find: byKey('audienceId', AUDIENCE, audienceStream),
    },
    lists: [
      {
        route: audienceList,
        owner: listedOfAdvertiser,
        keptDays: SIZES_KEPT_DAYS,
        shown: async (page, customerId) => {
          const sizes = await findAudienceSizes(
            reads,
            customerId,
            page.map(({ audience: { audienceId }, revision }) => ({ audienceId, revision })),
          );
          return page.map(({ audience }, n) => audienceResource(audience, sizes[n]));
        },
        keeps: ({ audience: { status } }) => status === 'ACTIVE',
        order: lastFirst(
          ({ audience: { createdAt } }) => createdAt,
          ({ audience: { audienceId } }) => audienceId,
        ),
        data: ({ items, ...page }) => ({ audiences: items, ...page }),
      },
    ],
  });
