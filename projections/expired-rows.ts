import type { Pool } from 'pg';
import { SIZES_KEPT_DAYS } from '../domain/audiences/resource.ts';
import { KEPT_DAYS } from '../domain/notifications/kept-days.ts';
import { DAYS_KNOWN } from '../domain/conversions/fingerprint.ts';
import { REPORT_KEPT_DAYS } from '../domain/reporting/period.ts';
import type { Purgeable } from '../shared/async/purge-regularly.ts';
import { oldRows } from '../shared/postgres/old-rows.ts';
import { NOTIFICATION_ROWS_DAYS } from './notifications.ts';

type Database = Pick<Pool, 'query'>;

export const expiredRows = (pool: Database) =>
  ({
    // Agents have received the removals by then, or their delivery restarts from the beginning.
    'removals of audiences': oldRows(pool, 'audience_removals', { column: 'removed_at', days: 7 }),
    // One day longer than past lists can be read, because server clocks differ.
    'past sizes of audiences': oldRows(pool, 'audience_sizes', {
      column: 'superseded_at',
      days: SIZES_KEPT_DAYS + 1,
    }),
    // Fingerprints have expired; some days more, because clocks differ (docs/design/conversions.md).
    'conversion segments': oldRows(pool, 'conversion_segments', {
      column: 'recorded_at',
      days: DAYS_KNOWN + 5,
    }),
    // Longer than a client may repeat a command.
    'conversion commands': oldRows(pool, 'conversion_commands', { column: 'recorded_at', days: 4 }),
    // Thirteen months, to compare a month with the same month of the previous year.
    'conversion hours': oldRows(pool, 'conversion_hours', { column: 'hour', days: REPORT_KEPT_DAYS }),
    'conversion receipts': oldRows(pool, 'conversion_receipts', { column: 'hour', days: REPORT_KEPT_DAYS }),
    "sellers' deliveries": oldRows(pool, 'seller_delivery_days', { column: 'day', days: REPORT_KEPT_DAYS }),
    notifications: oldRows(pool, 'notifications', { column: 'occurred_at', days: NOTIFICATION_ROWS_DAYS }),
    // Longer than a command that registered the origin can still write its row.
    'removed browser origins': oldRows(pool, 'browser_origins', { column: 'removed_at', days: 7 }),
    'assets that are gone': goneAssets(pool),
    'attempts of webhooks': oldRows(pool, 'webhook_attempts', { column: 'started_at', days: KEPT_DAYS }),
    'deliveries of webhooks': oldDeliveries(pool),
    'messages of webhooks': oldMessages(pool),
    'waiting deliveries of webhooks': waitingDeliveries(pool),
    'deleted webhooks': deletedEndpoints(pool),
  }) satisfies Record<string, Purgeable>;

const GONE_DAYS = 7;

/** Reads do not show these rows, and their streams have ended, so no event needs them. */
const goneAssets = (pool: Database): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'purge-gone-assets',
      text: `delete from assets where ctid = any(array(
               select ctid from assets
               where status in ('EXPIRED', 'REMOVED')
                 and expires_at < clock_timestamp() - interval '${GONE_DAYS} days'
               order by expires_at limit $1 for update skip locked))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});

const WAITING_DAYS = 7;

/** One that was requested again near its end gets its attempts first: they take less than these days. */
const oldDeliveries = (pool: Database): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'purge-webhook-deliveries',
      text: `delete from webhook_deliveries where ctid = any(array(
               select d.ctid from webhook_deliveries d
               where d.created_at < clock_timestamp() - interval '${KEPT_DAYS} days'
                 and not (d.state = 'due' and d.due_at > clock_timestamp() - interval '${WAITING_DAYS} days'
                   and exists (select from webhook_endpoints e
                               where e.customer_id = d.customer_id and e.subscription_id = d.subscription_id
                                 and e.status in ('active', 'paused')))
               order by d.created_at limit $1 for update of d skip locked))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});

/** A replay delivers a message again: it is kept as long as its deliveries. */
const oldMessages = (pool: Database): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'purge-webhook-messages',
      text: `delete from webhook_messages where ctid = any(array(
               select m.ctid from webhook_messages m
               where m.created_at < clock_timestamp() - interval '${KEPT_DAYS} days'
                 and not exists (select from webhook_deliveries d
                                 where d.customer_id = m.customer_id and d.message_id = m.id)
               order by m.created_at limit $1 for update of m skip locked))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});

/** Cancels those of paused subscriptions. The time runs from when they were due. */
const waitingDeliveries = (pool: Database): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'cancel-waiting-webhook-deliveries',
      text: `update webhook_deliveries set state = 'canceled' where ctid = any(array(
               select w.ctid from webhook_endpoints e, lateral (
                 select d.ctid from webhook_deliveries d
                 where d.customer_id = e.customer_id and d.subscription_id = e.subscription_id
                   and d.state = 'due' and d.due_at < clock_timestamp() - interval '${WAITING_DAYS} days'
                 order by d.due_at limit $1 for update skip locked) w
               where e.status = 'paused' limit $1))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});

const deletedEndpoints = (pool: Database): Purgeable => ({
  purge: async (rowsMax) => {
    const { rows } = await pool.query<{ count: number }>({
      name: 'purge-webhook-endpoints',
      text: `with gone as (
               delete from webhook_endpoints where ctid = any(array(
                 select e.ctid from webhook_endpoints e
                 where e.status = 'deleted'
                   and not exists (select from webhook_deliveries d
                                   where d.customer_id = e.customer_id and d.subscription_id = e.subscription_id)
                 order by e.changed_at limit $1 for update of e skip locked))
               returning customer_id, subscription_id
             ), cleared as (
               delete from webhook_health h using gone
               where h.customer_id = gone.customer_id and h.subscription_id = gone.subscription_id
             )
             select count(*)::int as count from gone`,
      values: [rowsMax],
    });
    return rows[0]?.count ?? 0;
  },
});
