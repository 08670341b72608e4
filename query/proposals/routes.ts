import { z } from 'zod';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import type { ProposalRequest } from '../../domain/proposals/proposal-request.ts';
import {
  countProducts,
  executionIdOf,
  proposalResource,
  ProposalRequestResource,
  ProposalRequestSummary,
} from '../../domain/proposals/resource.ts';
import { invalid, notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { cursorParameters, pageOf, pagingParameters, pathTextId } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import type { ListCursors } from '../resources/list-cursor.ts';
import { listExecutions, proposalRows } from './list.ts';

export interface ProposalReads extends RowReads {
  readonly cursors: ListCursors;
}

const path = '/api/v2/buyer/campaigns/{id}/proposal-requests';
const tag = 'Campaigns';
/** Bodies hold the products of all sellers. */
const TAKE_MAX = 50;
const LIMIT = 20;
const LIMIT_MAX = 50;

export const proposalReadRoutes = (reads: ProposalReads): readonly Route[] => [
  listRoute(reads),
  detailRoute(reads),
];

export const proposalList = declaration({
  method: 'get',
  path,
  operationId: 'listProposalRequests',
  summary: "A campaign's proposal requests, newest first, without their products",
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathTextId('campaign') }),
  query: z.object(pagingParameters(TAKE_MAX)),
});

const listRoute = (reads: ProposalReads): Route =>
  route({
    ...proposalList,
    responses: { 200: { description: 'One page', data: z.array(ProposalRequestSummary), paginated: true } },
    handle: async ({ params: { id }, query, request }) => {
      const campaignId = campaignIdOf(id);
      if (campaignId === undefined) throw notFound('campaign');
      const { skip, take } = pageOf(query);
      const { customerId } = request.principal;
      const page = await listExecutions(reads, customerId, campaignId, { skip, take }).catch(refuseIfBehind);
      if (page === undefined) throw notFound('campaign');
      const { items: data, total } = page;
      return { status: 200, data, pagination: { skip, take, total, hasMore: skip + data.length < total } };
    },
  });

const { cursor } = cursorParameters(LIMIT_MAX);

export const proposalPlace = {
  path: `${path}/{executionId}`,
  params: z.object({ id: pathTextId('campaign'), executionId: pathTextId('proposal request') }),
  tag,
};

export const proposalRead = declaration({
  ...proposalPlace,
  method: 'get',
  operationId: 'getProposalRequest',
  summary: 'One proposal request: what each seller answered, and a page of their products',
  access: 'exchange:read',
  query: z.object({
    limit: z
      .string()
      .regex(/^(?:[1-9]|[1-4]\d|50)$/, `must be a whole number from 1 to ${LIMIT_MAX}`)
      .transform(Number)
      .optional()
      .meta({
        type: 'integer',
        minimum: 1,
        maximum: LIMIT_MAX,
        description: `Products on a page. Default ${LIMIT}.`,
      }),
    cursor,
  }),
});

const detailRoute = (reads: ProposalReads): Route => {
  const readExecution = stateReader(reads, proposalRows);
  return route({
    ...proposalRead,
    responses: { 200: { description: 'The proposal request', data: ProposalRequestResource } },
    handle: async ({ params, query, request }) => {
      const executionId = executionIdOf(params.executionId);
      const { customerId } = request.principal;
      const execution = executionId && (await readExecution(customerId, executionId));
      if (!execution || execution.campaignId !== campaignIdOf(params.id)) throw notFound('proposal request');
      return { status: 200, data: await pageOfProducts(reads.cursors, execution, query) };
    },
  });
};

interface PageQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Answers are only ever added at the end: a cursor is a number of products. */
const pageOfProducts = async (
  cursors: ListCursors,
  execution: ProposalRequest,
  { limit = LIMIT, cursor: given }: PageQuery,
): Promise<ProposalRequestResource> => {
  const { customerId, executionId } = execution;
  const place = given === undefined ? undefined : await cursors.read(customerId, executionId, given);
  const skip = place === undefined ? 0 : Number(place.at);
  const next = skip + limit;
  const nextCursor =
    next < countProducts(execution)
      ? await cursors.of(customerId, executionId, { at: String(next), id: executionId })
      : undefined;
  return proposalResource(execution, { skip, limit, nextCursor });
};

/**
 * The first page of a past state. Its products come first now, too: the cursor of a present page continues it.
 * @throws ApiError VALIDATION_ERROR with a cursor
 */
export const pastPage = (
  execution: ProposalRequest,
  { limit = LIMIT, cursor: given }: PageQuery,
): ProposalRequestResource => {
  if (given !== undefined) {
    throw invalid('A past state has no further pages. Raise limit, or leave asOf out.', 'cursor');
  }
  return proposalResource(execution, { skip: 0, limit });
};
