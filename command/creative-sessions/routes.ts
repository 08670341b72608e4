import { z } from 'zod';
import {
  creativeSessionDetail,
  CreativeSessionDetail,
  creativeSessionResource,
  CreativeSessionResource,
  FinalizedSession,
} from '../../domain/creative-sessions/creative-session-resource.ts';
import { shownCreativeId } from '../../domain/creatives/creative-resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { evaluateSession, refineVariant } from './change-session.ts';
import {
  EvaluateSessionBody,
  FinalizeSessionBody,
  RefineVariantBody,
  StartCreativeSessionBody,
} from './creative-session-input.ts';
import { finalizeSession } from './finalize-session.ts';
import type { SessionWrites } from './session-writes.ts';
import { startSession } from './start-session.ts';

const path = '/api/v2/buyer/campaigns/{id}/creative-sessions';
const tag = 'Creative sessions';
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
    method: 'post',
    path,
    operationId: 'createCreativeSession',
    summary: 'Start a creative session in a campaign: an engine writes the first variants',
    tag,
    access: 'exchange:write',
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
    method: 'post',
    path: `${path}/{sid}/variants/{variantId}/refine`,
    operationId: 'refineCreativeSessionVariant',
    summary: 'Create another variant from one and your feedback; the new one is selected',
    tag,
    access: 'exchange:write',
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
    method: 'post',
    path: `${path}/{sid}/evaluate`,
    operationId: 'evaluateCreativeSession',
    summary: 'Evaluate the variants for a stage; existing evaluations stay as they are',
    tag,
    access: 'exchange:write',
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
    method: 'post',
    path: `${path}/{sid}/finalize`,
    operationId: 'finalizeCreativeSession',
    summary:
      'Finalize a session with an evaluated or selected variant, which becomes a creative of the campaign',
    tag,
    access: 'exchange:write',
    params: ofSession,
    body: FinalizeSessionBody,
    responses: { 200: { description: 'The finalized session, and its creative', data: FinalizedSession } },
    handle: async ({ params: where, body, request }) => {
      const { session, creativeId } = await finalizeSession(writes, where, body, request);
      const data = { session: creativeSessionResource(session), creativeId: shownCreativeId(creativeId) };
      return { status: 200, data };
    },
  });
