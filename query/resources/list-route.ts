import { z } from 'zod';
import { route, type Route, type RouteDeclaration } from '../../shared/http/route.ts';
import { pageOf, type PagingQuery } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from './refuse-if-behind.ts';
import type { Page } from './list-page.ts';

interface ItemsPage {
  /** One JSON text, or values. */
  readonly items: string | readonly unknown[];
  readonly total: number;
}

export const listRoute = <Query extends PagingQuery>(
  declared: RouteDeclaration<z.ZodType, z.ZodType<Query>>,
  item: z.ZodType,
  find: (customerId: number, query: Query, page: Page) => Promise<ItemsPage>,
): Route =>
  route({
    ...declared,
    responses: { 200: { description: 'One page', data: z.array(item), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const { customerId } = request.principal;
      const { items, total } = await find(customerId, query, { skip, take }).catch(refuseIfBehind);
      const pagination = { skip, take, total, hasMore: skip + take < total };
      return typeof items === 'string'
        ? { status: 200, dataJson: items, pagination }
        : { status: 200, data: items, pagination };
    },
  });
