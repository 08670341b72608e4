import { z } from 'zod';
import { audienceEvents } from '../domain/audiences/audience-events.ts';
import type { Audience } from '../domain/audiences/audience-resource.ts';
import { AUDIENCE, audienceDecider, audienceStream } from '../domain/audiences/audience.ts';
import { audiencesTable } from '../query/audiences/routes.ts';
import { auditedKind } from '../query/history/audited-kind.ts';
import { pathTextId } from '../shared/http/schemas.ts';
import { buyer, advertiserId, byKey, streamsByKey } from './places.ts';

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

/** Who is in it is about persons: no history has it. */
export const audienceKind = auditedKind({
  category: AUDIENCE,
  resourceType: 'AUDIENCE',
  noun: 'audience',
  events: audienceEvents,
  decider: audienceDecider,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ key }) => key,
  streamsOf: streamsByKey(AUDIENCE, audienceStream),
  keyedIn: audiencesTable,
  audited: audienceMembers,
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/advertisers/{id}/audiences/{audienceId}`,
    params: z.object({ id: advertiserId, audienceId: pathTextId('audience') }),
    tag: 'Audiences',
    find: byKey('audienceId', AUDIENCE, audienceStream),
  },
});
