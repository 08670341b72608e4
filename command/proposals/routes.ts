import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { RequestProposalsBody } from '../../domain/proposals/input.ts';
import {
  PendingConfirmation,
  proposalResource,
  ProposalRequestResource,
} from '../../domain/proposals/resource.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { Confirmation, Confirmations } from '../../shared/confirmations/confirmations.ts';
import { runConfirmed } from '../../shared/confirmations/use-confirmation.ts';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Reply, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import {
  planRequest,
  requestProposals,
  summaryOf,
  type PlannedRequest,
  type ProposalWrites,
} from './commands.ts';

export interface ProposalRouteWrites extends ProposalWrites {
  readonly confirmations: Confirmations;
}

const path = '/api/v2/buyer/campaigns/{id}/proposal-requests';

interface Input {
  readonly campaignId: string;
  readonly body: RequestProposalsBody;
  readonly request: RequestContext;
}

export const proposalWriteRoutes = (writes: ProposalRouteWrites): readonly Route[] => [
  route({
    method: 'post',
    path,
    operationId: 'requestProposals',
    description:
      'Asks sellers what they offer for a campaign. An account has one execution at a time (409 ' +
      'with `details.executionId` and `details.campaignId`). To ask all eligible sellers, confirm: the first answer has a ' +
      '`confirmationUid`, which is sent with the repeated request and `confirm: true`.',
    summary:
      'Ask sellers for proposals for a campaign. It answers at once; read the execution until it is complete. An account has one running execution. The Idempotency-Key names it.',
    tag: 'Campaigns',
    access: 'exchange:write',
    params: z.object({ id: pathTextId('campaign') }),
    body: RequestProposalsBody,
    alsoRefuses: ['CONFIRMATION_EXPIRED'],
    // The same key and the same campaign: the same execution. A client that polls may leave the rest out.
    keyOf: ({ customerId, params }) => ({
      scope: String(customerId),
      fingerprint: fingerprintOf({ method: 'post', path, pathValues: params, body: undefined }),
    }),
    responses: {
      200: {
        description:
          'All sellers would be asked: repeat the request with the confirmation. Nothing was done.',
        data: PendingConfirmation,
      },
      202: { description: 'The execution, which runs', data: ProposalRequestResource },
    },
    handle: async ({ params: { id }, body, request }) => {
      const campaignId = campaignIdOf(id);
      if (campaignId === undefined) throw notFound('campaign');
      return start(writes, { campaignId, body, request });
    },
  }),
];

const LIMIT = 20;

const start = async (writes: ProposalRouteWrites, input: Input): Promise<Reply> => {
  const { campaignId, body, request } = input;
  const planned = await planRequest(writes, campaignId, body, request);
  if ('done' in planned) return running(planned.done);
  const run = async (): Promise<Reply> => running(await requestProposals(writes, planned, request));
  if (!planned.isBroadcast) return run();
  // `confirm: true` alone confirms nothing: its sender has seen no summary.
  if (body.confirmationUid === undefined) return confirmationOffer(writes, planned, input);
  const confirmation = confirmationOf(input, body.confirmationUid);
  return runConfirmed(
    writes.confirmations,
    confirmation,
    request,
    'with the request without confirmationUid',
    run,
  );
};

const running = (execution: Parameters<typeof proposalResource>[0]): Reply => ({
  status: 202,
  data: proposalResource(execution, { skip: 0, limit: LIMIT }),
});

const confirmationOffer = async (
  { confirmations }: ProposalRouteWrites,
  planned: PlannedRequest,
  input: Input,
): Promise<Reply> => {
  const { request } = input;
  const uid = request.isRepeatable ? derivedId(request.commandId, 'confirmation') : randomUUID();
  const expiresMs = await confirmations.offer(confirmationOf(input, uid));
  return {
    status: 200,
    hadNoEffect: true,
    data: {
      action: 'pending_confirmation',
      confirmation: {
        confirmationUid: uid,
        expiresAt: isoTimestamp(expiresMs),
        summary: summaryOf(planned),
        tool: 'request_proposals',
        revision: planned.campaign.revision,
      },
    },
  };
};

/** The fingerprint covers the call without its confirmation members. */
const confirmationOf = ({ campaignId, body, request }: Input, uid: string): Confirmation => {
  const { confirm: _confirm, confirmationUid: _uid, ...call } = body;
  return {
    customerId: request.principal.customerId,
    uid,
    fingerprint: fingerprintOf({ method: 'post', path, pathValues: { campaignId }, body: call }),
  };
};
