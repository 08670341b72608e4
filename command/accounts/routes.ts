import { z } from 'zod';
import { CreateApiKeyBody } from '../../domain/accounts/input.ts';
import { NewApiKeyResource } from '../../domain/accounts/resource.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { userOf, type AccountWrites } from './handler.ts';
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
    description:
      'The key is shown in this answer only. `scopes` are all that your role allows by default. An ' +
      'account has at most 100 active keys (409).',
    summary:
      'Issue an API key, at most 100 active ones in the account. The key is shown only in this answer.',
    body: CreateApiKeyBody,
    answerIsSecret: true,
    responses: { 201: { description: 'The new key', data: NewApiKeyResource } },
    handle: async ({ body, request }) => {
      const { sealer } = request.principal;
      const asked = { ...body, user: userOf(request), ...(request.isRepeatable ? { sealer } : {}) };
      return { status: 201, data: await issueApiKey(writes, asked, ofRequest(request).context) };
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
      await revokeApiKey(writes, id, ofRequest(request).context);
      return { status: 204 };
    },
  });
