import { z } from 'zod';
import { campaignIdOf } from '../domain/campaigns/campaign-resource.ts';
import { creativeSessionEvents } from '../domain/creative-sessions/creative-session-events.ts';
import {
  creativeSessionDetail,
  sessionIdOf,
  shownSessionId,
} from '../domain/creative-sessions/creative-session-resource.ts';
import {
  CREATIVE_SESSION,
  creativeSessionDecider,
  creativeSessionStream,
} from '../domain/creative-sessions/creative-session.ts';
import { auditedKind } from '../query/history/audited-kind.ts';
import { pathTextId } from '../shared/http/schemas.ts';
import { buyer, byShownId, streamsByShownId } from './places.ts';

export const sessionKind = auditedKind({
  category: CREATIVE_SESSION,
  resourceType: 'CREATIVE_SESSION',
  noun: 'creative session',
  events: creativeSessionEvents,
  decider: creativeSessionDecider,
  live: (state) => (state.status === 'none' ? undefined : state),
  idOf: ({ sessionId }) => shownSessionId(sessionId),
  streamsOf: streamsByShownId(sessionIdOf, creativeSessionStream),
  audited: creativeSessionDetail,
  nameOf: ({ title }) => title,
  place: {
    path: `${buyer}/campaigns/{id}/creative-sessions/{sid}`,
    params: z.object({ id: pathTextId('campaign'), sid: pathTextId('creative session') }),
    tag: 'Creative sessions',
    find: byShownId('sid', sessionIdOf, creativeSessionStream),
    isAt: ({ campaignId }, { id }) => campaignId === campaignIdOf(String(id)),
  },
  details: [
    {
      operationId: 'getCreativeSession',
      shown: (session, { id }) =>
        session.campaignId === campaignIdOf(String(id)) ? creativeSessionDetail(session) : undefined,
    },
  ],
});
