import { z } from 'zod';
import { RegisterBrowserOriginBody } from '../../domain/accounts/input.ts';
import { BrowserOriginResource } from '../../domain/accounts/resource.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { registerBrowserOrigin, removeBrowserOrigin, type OriginWrites } from './browser-origins.ts';
import { userOf } from './handler.ts';

const path = '/api/v2/buyer/browser-origins';
const write = { tag: 'Browser origins', access: 'exchange:admin' } as const;

export const browserOriginWriteRoutes = (writes: OriginWrites): readonly Route[] => [
  registerRoute(writes),
  removeRoute(writes),
];

const registerRoute = (writes: OriginWrites): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'createBrowserOrigin',
    summary:
      'Let pages of an origin call the API with credentials of the account; at most 50 origins in the account',
    body: RegisterBrowserOriginBody,
    responses: { 201: { description: 'The registered origin', data: BrowserOriginResource } },
    handle: async ({ body, request }) => {
      const registered = { ...body, userId: userOf(request).id };
      return {
        status: 201,
        data: await registerBrowserOrigin(writes, registered, ofRequest(request).context),
      };
    },
  });

const removeRoute = (writes: OriginWrites): Route =>
  route({
    ...write,
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteBrowserOrigin',
    summary: 'Remove a browser origin: it is refused from the next request on. Repeating changes nothing.',
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the browser origin.' }) }),
    responses: { 204: { description: 'Removed' } },
    handle: async ({ params: { id }, request }) => {
      await removeBrowserOrigin(writes, id, ofRequest(request).context);
      return { status: 204 };
    },
  });
