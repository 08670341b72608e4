import type { z } from 'zod';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route, type RouteDeclaration } from '../../shared/http/route.ts';
import { pageOf, type PagingQuery } from '../../shared/http/schemas.ts';
import { listPage, type Filter, type List, type Page } from './list-page.ts';
import { refuseIfBehind } from './refuse-if-behind.ts';
import type { ResourceReads, ResourceTable } from './resource-reads.ts';

export interface ResourceOwner {
  readonly customerId: number;
  readonly advertiserId: number;
}

export interface ResourcePage<State> {
  readonly items: readonly State[];
  readonly total: number;
}

/** Counts rows: a sync limits them to a few hundred. @throws ReadModelBehindError */
export const listResources = async <State>(
  reads: ResourceReads,
  { readModel, table, body }: ResourceTable,
  owner: ResourceOwner,
  page: Page,
  filters: readonly Filter[] = [],
): Promise<ResourcePage<State> | undefined> => {
  const list: List = {
    readModel,
    table,
    at: 'created_at',
    listed: `status = 'ACTIVE'`,
    ...(body && { body }),
  };
  const { known, items, total } = await listPage(reads, list, owner, filters, page);
  return known ? { items: JSON.parse(items) as readonly State[], total } : undefined;
};

/** @param find returns undefined if the advertiser does not exist */
export const listResourcesRoute = <Query extends PagingQuery>(
  declared: RouteDeclaration<z.ZodType<{ readonly id: number }>, z.ZodType<Query>>,
  data: z.ZodType,
  find: (owner: ResourceOwner, page: Page, query: Query) => Promise<object | undefined>,
): Route =>
  route({
    ...declared,
    responses: { 200: { description: 'One page, and how many there are', data } },
    handle: async ({ params: { id }, query, request }) => {
      const owner = { customerId: request.principal.customerId, advertiserId: id };
      const found = await find(owner, pageOf(query), query).catch(refuseIfBehind);
      if (found === undefined) throw notFound('advertiser');
      return { status: 200, data: found };
    },
  });
