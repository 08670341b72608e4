import { z } from 'zod';
import { audienceEvents, type AudienceEvent } from '../../domain/audiences/audience-events.ts';
import {
  audienceResource,
  SIZES_KEPT_DAYS,
  type Audience,
} from '../../domain/audiences/audience-resource.ts';
import { AUDIENCE, audienceFold, audienceStream } from '../../domain/audiences/audience.ts';
import { findAudienceSizes } from './find-audience-sizes.ts';
import { audienceList, audiencesTable } from './routes.ts';
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

const audienceMembers = ({
  key,
  advertiserId: owner,
  name,
  consentBasis,
  status,
  createdAt,
  updatedAt,
}: Audience) => ({
  audienceId: key,
  advertiserId: owner,
  name,
  consentBasis,
  status,
  createdAt,
  updatedAt,
});

/** An audience, and its last event: how many members it had is found by that. */
interface AudiencePast {
  readonly audience: Audience | undefined;
  /** From 0 as in the log; -1 before the first. */
  readonly revision: number;
}

const { initialState: noAudience, evolve: evolveAudience } = audienceFold;

/** Members are personal data and never part of the history. The read model stores their number after every event. */
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
    audited: ({ audience }) => audienceMembers(audience),
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
