import { listPage, type Filter, type List, type Page } from './list-page.ts';
import type { ResourceReads, ResourceTable } from './resource-reads.ts';

export interface ResourcePage<State> {
  readonly items: readonly State[];
  readonly total: number;
}

/**
 * One page of an advertiser's active resources, newest first; undefined if the advertiser does not exist. Counts the
 * rows: a sync limits them to a few hundred.
 * @throws ReadModelBehindError
 */
export const listResources = async <State>(
  reads: ResourceReads,
  { readModel, table, body }: ResourceTable,
  owner: { readonly customerId: number; readonly advertiserId: number },
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
