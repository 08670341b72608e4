import { z } from 'zod';
import { Role } from '../../domain/accounts/access.ts';
import { CreateApiKeyBody } from '../../domain/accounts/input.ts';
import { NewApiKeyResource } from '../../domain/accounts/resource.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import type { AccountWrites } from './handler.ts';
import { issueApiKey } from './issue-api-key.ts';
import { revokeApiKey } from './commands.ts';

const path = '/api/v2/buyer/api-keys';
const write = { tag: 'API keys', access: 'exchange:admin' } as const;

export const accountWriteRoutes = (writes: AccountWrites): readonly Route[] => [
  createRoute(writes),
  revokeRoute(writes),
];

const createRoute = (writes: AccountWrites): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'createApiKey',
    summary:
      'Issue an API key, at most 100 active ones in the account. The key is shown only in this answer.',
    body: CreateApiKeyBody,
    answerIsSecret: true,
    responses: { 201: { description: 'The new key', data: NewApiKeyResource } },
    handle: async ({ body, request }) => {
      const { user, sealer } = request.principal;
      if (user === undefined) throw new Error('a principal with scopes has a user');
      const holder = { id: user.id, role: Role.parse(user.role) };
      const asked = { ...body, user: holder, ...(request.isRepeatable ? { sealer } : {}) };
      return { status: 201, data: await issueApiKey(writes, asked, contextOf(request)) };
    },
  });

const revokeRoute = (writes: AccountWrites): Route =>
  route({
    ...write,
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key: it is refused on its next request. Repeating changes nothing.',
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the API key.' }) }),
    responses: { 204: { description: 'Revoked' } },
    handle: async ({ params: { id }, request }) => {
      await revokeApiKey(writes, id, contextOf(request));
      return { status: 204 };
    },
  });

const contextOf = ({
  commandId,
  requestId,
  onEvents,
  principal: { customerId, actor },
}: RequestContext): CommandContext => ({
  commandId,
  customerId,
  actor,
  requestId,
  onEvents,
});
