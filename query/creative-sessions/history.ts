import { z } from 'zod';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import {
  creativeSessionDetail,
  creativeSessionResource,
  sessionIdOf,
  shownSessionId,
  type CreativeSession,
} from '../../domain/creative-sessions/resource.ts';
import {
  creativeSessionFold,
  creativeSessionStream,
} from '../../domain/creative-sessions/creative-session.ts';
import type { ListPlace } from '../resources/list-cursor.ts';
import { creativeSessionList, creativeSessionRead } from './routes.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import { cursorLimitOf, pathTextId } from '../../shared/http/schemas.ts';
import {
  buyer,
  byShownId,
  compare,
  each,
  listedOfCampaign,
  streamsByShownId,
} from '../resources/resource-paths.ts';

const inOrder = (one: CreativeSession, other: CreativeSession): number =>
  compare(other.updatedAt, one.updatedAt) || compare(one.sessionId, other.sessionId);

const follows = (one: CreativeSession, { at, id }: ListPlace): boolean =>
  one.updatedAt < at || (one.updatedAt === at && one.sessionId > id);

export const sessionKind = auditedKind({
  ...creativeSessionFold,
  resourceType: 'CREATIVE_SESSION',
  noun: 'creative session',
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
      route: creativeSessionRead,
      shown: (session, { id }) =>
        session.campaignId === campaignIdOf(String(id)) ? creativeSessionDetail(session) : undefined,
    },
  ],
  lists: [
    {
      route: creativeSessionList,
      owner: listedOfCampaign,
      shown: each(creativeSessionResource),
      keeps: ({ campaignId }, { id }) => campaignId === campaignIdOf(String(id)),
      order: inOrder,
      dataAtCursor: async (sessions, asked, customerId, cursors) => {
        const { cursor, limit, id } = asked as { readonly cursor?: string; limit?: number; id: string };
        const campaignId = campaignIdOf(id) ?? '';
        const after = cursor === undefined ? undefined : await cursors.read(customerId, campaignId, cursor);
        const left = sessions.filter((one) => after === undefined || follows(one, after));
        const page = left.slice(0, cursorLimitOf({ limit }));
        const last = left.length > page.length ? page.at(-1) : undefined;
        const next = last && { at: last.updatedAt, id: last.sessionId };
        const nextCursor = next && (await cursors.of(customerId, campaignId, next));
        return { sessions: page.map(creativeSessionResource), nextCursor };
      },
    },
  ],
});
