import { z } from 'zod';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import {
  creativeSessionDetail,
  CreativeSessionDetail,
  CreativeSessionResource,
  sessionIdOf,
} from '../../domain/creative-sessions/resource.ts';
import { creativeSessionFold } from '../../domain/creative-sessions/creative-session.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { cursorLimitOf, cursorParameters, pathTextId } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import { CREATIVE_SESSIONS, listSessions } from './list.ts';
import type { ListCursors } from '../resources/list-cursor.ts';

export interface SessionReads extends RowReads {
  readonly cursors: ListCursors;
}

const path = '/api/v2/buyer/campaigns/{id}/creative-sessions';
const tag = 'Creative sessions';
const LIMIT_MAX = 100;

export const creativeSessionReadRoutes = (reads: SessionReads): readonly Route[] => [
  listRoute(reads),
  detailRoute(reads),
];

const CreativeSessionPage = z.strictObject({
  sessions: z.array(CreativeSessionResource),
  nextCursor: z.string().optional().meta({ description: 'Absent on the last page.' }),
});

export const creativeSessionList = declaration({
  method: 'get',
  path,
  operationId: 'listCreativeSessions',
  summary: "A campaign's creative sessions, those that changed last first",
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathTextId('campaign') }),
  query: z.object(cursorParameters(LIMIT_MAX)),
});

const listRoute = (reads: SessionReads): Route =>
  route({
    ...creativeSessionList,
    responses: { 200: { description: 'One page', data: CreativeSessionPage } },
    handle: async ({ params: { id }, query, request }) => {
      const { customerId } = request.principal;
      const campaignId = campaignIdOf(id);
      if (campaignId === undefined) throw notFound('campaign');
      const { cursors } = reads;
      const after = query.cursor && (await cursors.read(customerId, campaignId, query.cursor));
      const limit = cursorLimitOf(query);
      const page = await listSessions(reads, customerId, campaignId, after || undefined, limit).catch(
        refuseIfBehind,
      );
      if (page === undefined) throw notFound('campaign');
      const { sessions, next } = page;
      const nextCursor = next && (await cursors.of(customerId, campaignId, next));
      return { status: 200, data: { sessions, nextCursor } };
    },
  });

export const creativeSessionRead = declaration({
  method: 'get',
  path: `${path}/{sid}`,
  operationId: 'getCreativeSession',
  summary: 'One creative session with its variants and their evaluations',
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathTextId('campaign'), sid: pathTextId('creative session') }),
});

const detailRoute = (reads: SessionReads): Route => {
  const readSession = stateReader(reads, { ...creativeSessionFold, ...CREATIVE_SESSIONS });
  return route({
    ...creativeSessionRead,
    responses: { 200: { description: 'The session', data: CreativeSessionDetail } },
    handle: async ({ params: { id, sid }, request }) => {
      const [campaignId, sessionId] = [campaignIdOf(id), sessionIdOf(sid)];
      if (campaignId === undefined || sessionId === undefined) throw notFound('creative session');
      const session = await readSession(request.principal.customerId, sessionId);
      if (session?.campaignId !== campaignId) throw notFound('creative session');
      return { status: 200, data: creativeSessionDetail(session) };
    },
  });
};
