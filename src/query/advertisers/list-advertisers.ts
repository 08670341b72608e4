import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { pageKeysSql } from '../resources/page-keys.ts';

/** The list query in its variants: one prepared statement for each set of filters, so that each gets its index. */

export interface ListFilters {
  readonly status: 'ACTIVE' | 'ARCHIVED' | 'ALL';
  readonly sandbox?: boolean | undefined;
  /** Case-insensitive part of the name. */
  readonly name?: string | undefined;
}

export interface ListPage {
  readonly skip: number;
  readonly take: number;
}

export interface ListQuery {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** One row comes back: the page's bodies as one JSON text, how many they are, how many match in all. */
export interface ListRow extends Freshness {
  readonly items: string;
  readonly returned: number;
  readonly total: number;
}

/**
 * Newest first, the higher id first among equals (decisions.md 1.1, row 24).
 *
 * The page is found in the index alone and only its bodies are fetched, and nothing is scanned behind the
 * total. Totals are kept by the projection; only a name filter has to look at the account's names.
 */
export const listAdvertisersQuery = (
  customerId: number,
  filters: ListFilters,
  { skip, take }: ListPage,
): ListQuery => {
  const values: unknown[] = [customerId, 'advertisers', take, skip];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  const counted: string[] = [];
  const kind: string[] = [];
  if (filters.status !== 'ALL') {
    const status = parameter(filters.status);
    conditions.push(`status = ${status}`);
    kind.push(status);
    counted.push(`status = ${status}`);
  }
  if (filters.sandbox !== undefined) {
    const sandbox = parameter(filters.sandbox);
    conditions.push(`sandbox = ${sandbox}`);
    kind.push(`'/'`, `${sandbox}::boolean::text`);
    counted.push(`sandbox = ${sandbox}`);
  }
  if (filters.name !== undefined) {
    conditions.push(`position(lower(${parameter(filters.name)}::text) in lower(name)) > 0`);
  }
  const where = ['customer_id = $1', ...conditions].join(' and ');
  const isCounted = filters.name === undefined;
  const total = isCounted
    ? `(select coalesce(sum(count), 0) from advertiser_counts where ${['customer_id = $1', ...counted].join(' and ')})`
    : `(select count(*) from advertisers where ${where})`;
  const keys = pageKeysSql({
    table: 'advertisers',
    where,
    take: '$3',
    skip: '$4',
    total: 'counted.total',
    ...(isCounted && {
      blocks: {
        table: 'advertiser_blocks',
        kind: kind.join(' || ') || `''`,
        advertiserId: '0',
        projection: '$2',
        noId: '0',
      },
    }),
  });
  const variant = [
    filters.status === 'ALL' ? 'all' : 'status',
    filters.sandbox === undefined ? '' : 'sandbox',
    filters.name === undefined ? '' : 'name',
  ];
  return {
    name: `list-advertisers-${variant.filter((part) => part !== '').join('-')}`,
    text: `
      with counted as materialized (select ${total}::float8 as total)
      select ${freshnessColumns('f')}, counted.total, page.items, page.returned
      from ${freshnessSql('$1', '$2')} f, counted, lateral (
        select coalesce(string_agg(a.body, ',' order by a.created_at desc, a.id desc), '') as items,
               count(*)::int as returned
        from (${keys}) keys
        join advertisers a on a.customer_id = $1 and a.id = keys.id
      ) page`,
    values,
  };
};
