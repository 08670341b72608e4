import { z } from 'zod';
import { Role, Scope } from '../../domain/accounts/access.ts';
import { NewApiKeyResource } from '../../domain/accounts/account-resource.ts';
import { instant } from '../../domain/values.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../shared/http/schemas.ts';
import type { AccountWrites } from './account-writes.ts';
import { issueApiKey } from './issue-api-key.ts';
import { revokeApiKey } from './revoke-api-key.ts';

const path = '/api/v2/buyer/api-keys';
const tag = 'API keys';

const CreateApiKeyBody = z
  .object({
    name: boundedText(1, 120),
    scopes: z
      .array(Scope)
      .min(1)
      .max(30)
      .overwrite((scopes) => [...new Set(scopes)])
      .optional()
      .meta({ description: "Default: all that the user's role allows." }),
    expiresAt: instant()
      .transform(isoTimestamp)
      .optional()
      .meta({ description: 'The key is refused from then on. Default: never.' }),
  })
  .meta({ id: 'CreateApiKey' });

export const accountWriteRoutes = (writes: AccountWrites): readonly Route[] => [
  createRoute(writes),
  revokeRoute(writes),
];

const createRoute = (writes: AccountWrites): Route =>
  route({
    method: 'post',
    path,
    operationId: 'createApiKey',
    summary:
      'Issue an API key, at most 100 active ones in the account. The key is shown only in this answer.',
    tag,
    access: 'exchange:admin',
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
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key: it is refused on its next request. Repeating changes nothing.',
    tag,
    access: 'exchange:admin',
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
