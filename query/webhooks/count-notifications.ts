import { int4Array, textArray } from '../../shared/postgres/binary-array.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

const projection = 'notifications';

export interface NotificationPeriod {
  /** ISO 8601; `until` is not included. */
  readonly since: string;
  readonly until: string;
  readonly kinds: readonly string[];
  /** Undefined: all, and those of no advertiser. */
  readonly advertiserIds: readonly number[] | undefined;
}

/** Counts up to `most`, which bounds the query. @throws ReadModelBehindError */
export const countNotifications = async (
  { database, progress }: ResourceReads,
  customerId: number,
  { since, until, kinds, advertiserIds }: NotificationPeriod,
  most: number,
): Promise<number> => {
  const { count } = await consistentRead<Freshness & { readonly count: number }>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    query: {
      name: 'count-notifications',
      text: `select ${freshnessColumns('f')}, found.count
             from ${freshnessSql('$1', '$2')} f, lateral (
               select count(*)::int as count from (
                 select from notifications n
                 where n.customer_id = $1 and n.occurred_at >= $3::timestamptz and n.occurred_at < $4::timestamptz
                   and n.kind = any($5::text[]) and ($6::int[] is null or n.advertiser_id = any($6::int[]))
                 limit $7) n
             ) found`,
      values: [
        customerId,
        projection,
        since,
        until,
        textArray(kinds),
        advertiserIds === undefined ? null : int4Array(advertiserIds),
        most,
      ],
    },
  });
  return count;
};
