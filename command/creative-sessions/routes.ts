import { z } from 'zod';
import {
  creativeSessionDetail,
  CreativeSessionDetail,
  creativeSessionResource,
  CreativeSessionResource,
  FinalizedSession,
} from '../../domain/creative-sessions/resource.ts';
import {
  EvaluateSessionBody,
  FinalizeSessionBody,
  RefineVariantBody,
  StartCreativeSessionBody,
} from '../../domain/creative-sessions/input.ts';
import { shownCreativeId } from '../../domain/creatives/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { evaluateSession, finalizeSession, refineVariant, startSession } from './commands.ts';
import type { SessionWrites } from './handler.ts';

const path = '/api/v2/buyer/campaigns/{id}/creative-sessions';
const write = { tag: 'Creative sessions', access: 'exchange:write' } as const;
const params = z.object({ id: pathTextId('campaign') });
const ofSession = z.object({ ...params.shape, sid: pathTextId('creative session') });
const ofVariant = z.object({ ...ofSession.shape, variantId: pathTextId('variant') });

export const creativeSessionWriteRoutes = (writes: SessionWrites): readonly Route[] => [
  startRoute(writes),
  evaluateRoute(writes),
  refineRoute(writes),
  finalizeRoute(writes),
];

const startRoute = (writes: SessionWrites): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'createCreativeSession',
    summary: 'Start a creative session in a campaign: an engine writes the first variants',
    params,
    body: StartCreativeSessionBody,
    responses: { 201: { description: 'The new session', data: CreativeSessionResource } },
    handle: async ({ params: { id }, body, request }) => ({
      status: 201,
      data: creativeSessionResource(await startSession(writes, id, body, request)),
    }),
  });

const refineRoute = (writes: SessionWrites): Route =>
  route({
    ...write,
    method: 'post',
    path: `${path}/{sid}/variants/{variantId}/refine`,
    operationId: 'refineCreativeSessionVariant',
    summary: 'Create another variant from one and your feedback; the new one is selected',
    params: ofVariant,
    body: RefineVariantBody,
    responses: { 200: { description: 'The session with the new variant', data: CreativeSessionDetail } },
    handle: async ({ params: where, body, request }) => ({
      status: 200,
      data: creativeSessionDetail(await refineVariant(writes, where, body, request)),
    }),
  });

const evaluateRoute = (writes: SessionWrites): Route =>
  route({
    ...write,
    method: 'post',
    path: `${path}/{sid}/evaluate`,
    operationId: 'evaluateCreativeSession',
    summary: 'Evaluate the variants for a stage; existing evaluations stay as they are',
    params: ofSession,
    body: EvaluateSessionBody,
    responses: { 200: { description: 'The session with the evaluations', data: CreativeSessionDetail } },
    handle: async ({ params: where, body: { stage }, request }) => ({
      status: 200,
      data: creativeSessionDetail(await evaluateSession(writes, where, stage, request)),
    }),
  });

const finalizeRoute = (writes: SessionWrites): Route =>
  route({
    ...write,
    method: 'post',
    path: `${path}/{sid}/finalize`,
    operationId: 'finalizeCreativeSession',
    description:
      'The variant must be selected or evaluated. It becomes an ordinary creative, and the session ' +
      'is read only. The same variant again gives the same creative; another one is 409.',
    summary:
      'Finalize a session with an evaluated or selected variant, which becomes a creative of the campaign',
    params: ofSession,
    body: FinalizeSessionBody,
    responses: { 200: { description: 'The finalized session, and its creative', data: FinalizedSession } },
    handle: async ({ params: where, body, request }) => {
      const { session, creativeId } = await finalizeSession(writes, where, body, request);
      const data = { session: creativeSessionResource(session), creativeId: shownCreativeId(creativeId) };
      return { status: 200, data };
    },
  });
