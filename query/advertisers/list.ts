import { contains, equal, listPage, type FoundPage, type List, type Page } from '../resources/list-page.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

export interface AdvertiserFilters {
  /** Default: active ones. */
  readonly status?: 'ACTIVE' | 'ARCHIVED' | 'ALL' | undefined;
  readonly sandbox?: boolean | undefined;
  readonly name?: string | undefined;
}

const advertisers: List = {
  readModel: 'advertisers',
  table: 'advertisers',
  at: 'created_at',
  counts: 'advertiser_counts',
};

export const listAdvertisers = (
  reads: ResourceReads,
  customerId: number,
  { status = 'ACTIVE', sandbox, name }: AdvertiserFilters,
  page: Page,
): Promise<FoundPage> => {
  const filters = [
    ...equal('status', status === 'ALL' ? undefined : status),
    ...equal('sandbox', sandbox),
    ...contains('name', name),
  ];
  return listPage(reads, advertisers, { customerId }, filters, page);
};
