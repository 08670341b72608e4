import type { z } from 'zod';
import {
  shownDeliveryId,
  WebhookAttempt,
  WebhookDelivery,
  type DeliveryState,
} from '../../domain/webhooks/delivery-resource.ts';
import { membersOf } from '../../domain/fields.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import type { ListPlace } from '../resources/list-cursor.ts';

export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined;
  readonly type?: string | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
}

export interface DeliveryPage {
  readonly deliveries: readonly WebhookDelivery[];
  /** Undefined after the last page. */
  readonly next: ListPlace | undefined;
}

type Nullable<Row> = { readonly [M in keyof Row]: Row[M] | null };
type DeliveryRow = Nullable<WebhookDelivery> & { readonly id: string; readonly at: string };

const columns = (alias: string): string => `
  ${alias}.id, ${alias}.message_id as "messageId", ${alias}.kind as type, ${alias}.state,
  ${alias}.attempts as "attemptCount", ${isoTimestampSql(`${alias}.created_at`)} as "createdAt",
  case when ${alias}.state = 'due' then ${isoTimestampSql(`${alias}.due_at`)} end as "nextAttemptAt",
  ${isoTimestampSql(`${alias}.first_attempt_at`)} as "firstAttemptAt",
  ${isoTimestampSql(`${alias}.last_attempt_at`)} as "lastAttemptAt",
  ${alias}.last_status as "responseStatus", ${alias}.last_error as error`;

const shown = (row: DeliveryRow): WebhookDelivery =>
  membersOf(WebhookDelivery, {
    ...row,
    id: shownDeliveryId(row.id),
    messageId: `msg_${row.messageId}`,
  });

/** Deliveries that one page examines: no index has the type. The page may show fewer than its limit. */
const EXAMINED_MAX = 5_000;

interface PageRow {
  readonly items: readonly DeliveryRow[];
  readonly examined: number;
  /** The last examined one. */
  readonly at: string | null;
  readonly id: string | null;
}

/** Each set of filters is a separate statement, with its own index. @param limit of deliveries on the page */
export const deliveryPageQuery = (
  customerId: number,
  subscriptionId: string,
  { state, type, since }: DeliveryFilter,
  after: ListPlace | undefined,
  limit: number,
) => {
  const values: unknown[] = [customerId, subscriptionId, limit + 1];
  const value = (one: unknown): string => `$${values.push(one)}`;
  const used = [state && 'state', type && 'type', since && 'since', after && 'after'].filter(Boolean);
  const where = [
    state && `d.state = ${value(state)}`,
    since && `d.created_at >= ${value(since)}::timestamptz`,
    after && `(d.created_at, d.id) < (${value(after.at)}::timestamptz, ${value(after.id)}::uuid)`,
  ].filter(Boolean);
  const examinedMax = type === undefined ? '$3' : String(EXAMINED_MAX);
  const text = `with e as materialized (
      select d.* from webhook_deliveries d
      where ${['d.customer_id = $1', 'd.subscription_id = $2', ...where].join(' and ')}
      order by d.created_at desc, d.id desc limit ${examinedMax}),
    page as (
      select ${columns('e')}, e.created_at::text as at from e
      ${type === undefined ? '' : `where e.kind = ${value(type)}`}
      order by e.created_at desc, e.id desc limit $3)
    select coalesce((select json_agg(page) from page), '[]') as items,
      (select count(*)::int from e) as examined, oldest.at, oldest.id
    from (select) one
    left join lateral (
      select e.created_at::text as at, e.id from e order by e.created_at, e.id limit 1) oldest on true`;
  return { name: ['webhook-deliveries', ...used].join('-'), text, values };
};

/** Newest first. A new delivery may be missed while a client reads the pages. */
export const findDeliveries = async (
  database: TenantDatabase,
  customerId: number,
  subscriptionId: string,
  filter: DeliveryFilter,
  after: ListPlace | undefined,
  limit: number,
): Promise<DeliveryPage> => {
  const query = deliveryPageQuery(customerId, subscriptionId, filter, after, limit);
  const [row] = await database.query<PageRow>(customerId, query);
  if (row === undefined) throw new Error(`${query.name} must return one row`);
  const rows = row.items.slice(0, limit);
  const last = row.items.length > limit ? rows.at(-1) : undefined;
  const isCut = filter.type !== undefined && row.examined === EXAMINED_MAX;
  const oldest = isCut && row.at !== null && row.id !== null ? { at: row.at, id: row.id } : undefined;
  return { deliveries: rows.map(shown), next: last === undefined ? oldest : { at: last.at, id: last.id } };
};

/** Redeliveries start again at ten attempts each. */
const ATTEMPTS_SHOWN_MAX = 100;

export interface FoundDelivery {
  readonly delivery: WebhookDelivery;
  /** The last ones, oldest first. */
  readonly attempts: readonly WebhookAttempt[];
}

/** @param deliveryId UUID @returns undefined if the subscription has no such delivery */
export const findDelivery = async (
  database: TenantDatabase,
  customerId: number,
  subscriptionId: string,
  deliveryId: string,
): Promise<FoundDelivery | undefined> => {
  const [row] = await database.query<{
    readonly delivery: DeliveryRow;
    readonly attempts: readonly unknown[];
  }>(customerId, {
    name: 'webhook-delivery',
    text: `select to_json(found) as delivery, coalesce((
               select json_agg(tried order by tried.attempt) from (
                 select a.attempt, ${isoTimestampSql('a.started_at')} as "startedAt",
                   a.duration_ms as "durationMs", a.status as "responseStatus", a.error,
                   a.response_head as "responseHead"
                 from webhook_attempts a where a.customer_id = $1 and a.delivery_id = $3
                 order by a.attempt desc limit ${ATTEMPTS_SHOWN_MAX}) tried), '[]') as attempts
             from (select ${columns('d')} from webhook_deliveries d
                   where d.customer_id = $1 and d.subscription_id = $2 and d.id = $3) found`,
    values: [customerId, subscriptionId, deliveryId],
  });
  if (row === undefined) return undefined;
  const attempts = row.attempts as readonly Nullable<z.output<typeof WebhookAttempt>>[];
  return {
    delivery: shown(row.delivery),
    attempts: attempts.map((one) => membersOf(WebhookAttempt, one)),
  };
};

/** @param deliveryId UUID */
export const isWebhookDelivery = async (
  database: TenantDatabase,
  customerId: number,
  subscriptionId: string,
  deliveryId: string,
): Promise<boolean> => {
  const [row] = await database.query<{ readonly found: boolean }>(customerId, {
    name: 'is-webhook-delivery',
    text: `select exists (select from webhook_deliveries d
             where d.customer_id = $1 and d.subscription_id = $2 and d.id = $3) as found`,
    values: [customerId, subscriptionId, deliveryId],
  });
  return row?.found === true;
};

/** Due deliveries, counted up to `most`. */
export const countWaiting = async (
  database: TenantDatabase,
  customerId: number,
  subscriptionId: string,
  most: number,
): Promise<number> => {
  const [row] = await database.query<{ readonly count: number }>(customerId, {
    name: 'webhook-deliveries-waiting',
    text: `select count(*)::int as count from (
             select from webhook_deliveries d
             where d.customer_id = $1 and d.subscription_id = $2 and d.state = 'due' limit $3) found`,
    values: [customerId, subscriptionId, most],
  });
  return row?.count ?? 0;
};
