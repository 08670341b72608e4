import type { ClientBase, Pool } from 'pg';
import { z } from 'zod';
import type { KeptNotification } from '../../../domain/notifications/body.ts';
import { coalesce } from '../../../shared/async/coalesce.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../../../shared/postgres/binary-array.ts';
import { createSettle, type Outcome } from './settle-outcomes.ts';

/** All times come from the database's clock, as differences to its now. */

export interface Endpoint {
  readonly status: string;
  readonly url: string;
  readonly payload: string;
  readonly authentication: string;
  readonly secretId: string;
  /** Undefined after the overlap. */
  readonly previousSecretId: string | undefined;
  readonly revision: string;
  /** Time until the next delivery is due; undefined: none waits. */
  readonly dueMs: number | undefined;
  /** Time until the next attempt of a slow endpoint; undefined: it is not slow. */
  readonly slowMs: number | undefined;
  /** Undefined: nothing failed since the last success. */
  readonly failingMs: number | undefined;
  readonly failingSince: string | undefined;
  readonly notices: number;
}

/** As the fan-out writes it. */
const MessageData = z.object({
  resourceType: z.string(),
  resourceId: z.string(),
  revision: z.int(),
  changed: z.array(z.string()),
  path: z.string().nullish(),
});

export interface DueDelivery {
  readonly id: string;
  readonly attempts: number;
  /** Attempts before the last redelivery. */
  readonly roundBeganAt: number;
  /** The endpoint's, now. */
  readonly revision: string;
  /** Undefined: deleted since, because it is too old. */
  readonly message: KeptNotification | undefined;
}

export interface SubscriptionKey {
  readonly customerId: number;
  readonly subscriptionId: string;
}

/** One run sends the deliveries of a subscription at a time. */
export interface Run extends SubscriptionKey {
  readonly runId: string;
}

export interface DeliveryRows {
  /**
   * Begins a run, for at most `LEASE_MS`.
   * @returns undefined if the subscription is gone; `heldMs`: time until another run ends at the latest
   */
  begin(run: Run): Promise<Endpoint | { readonly heldMs: number } | undefined>;
  /**
   * Due deliveries of an active endpoint, oldest first; none if the run is over. Runs of this process share statements.
   * @param except ids that the run has already
   */
  due(run: Run, countMax: number, except: ReadonlySet<string>): Promise<readonly DueDelivery[]>;
  /** Without an effect if another run did it, or the delivery was canceled. */
  settle(outcome: Outcome): Promise<void>;
  /** Its message is gone. */
  cancel(subscription: SubscriptionKey, deliveryId: string): Promise<void>;
  /** @returns the endpoint as the run leaves it */
  end(run: Run): Promise<Endpoint | undefined>;
  /** Nothing succeeded since the first attempt of a failed delivery. */
  isHopeless(subscription: SubscriptionKey, deliveryId: string): Promise<boolean>;
  /** @returns false if that notice was sent already */
  countNotice(client: ClientBase, subscription: SubscriptionKey, notice: number): Promise<boolean>;
  /** Nothing waits any more: time that passes now is not a failure. */
  endFailing(subscription: SubscriptionKey): Promise<void>;
}

/** Longer than a run. After a killed worker, deliveries wait that long. */
const LEASE_MS = 30_000;

const READS_MAX = 64;

/** @param pool sees the rows of all accounts. May commit asynchronously: lost outcomes are sent again */
export const createDeliveryRows = (pool: Pool): DeliveryRows => {
  const readSome = coalesce<Read, readonly DueDelivery[]>((reads) => readAll(pool, reads), {
    batchMax: READS_MAX,
    inFlightMax: 1,
  });
  return {
    begin: (run) => beginRun(pool, run),
    due: (run, countMax, except) => readSome({ run, countMax, except }),
    settle: createSettle(pool),
    cancel: async ({ customerId }, deliveryId) => {
      await pool.query({
        name: 'webhook-cancel',
        text: `update webhook_deliveries set state = 'canceled' where customer_id = $1 and id = $2 and state = 'due'`,
        values: [customerId, deliveryId],
      });
    },
    end: async ({ customerId, subscriptionId, runId }) => {
      const { rows } = await pool.query<EndpointRow>({
        name: 'webhook-run-end',
        text: `with ended as (
                 update webhook_health set run_id = null, run_until = null
                 where customer_id = $1 and subscription_id = $2 and run_id = $3
               ) ${ENDPOINT}`,
        values: [customerId, subscriptionId, runId],
      });
      return rows[0] && endpointOf(rows[0]);
    },
    isHopeless: async ({ customerId, subscriptionId }, deliveryId) => {
      const { rowCount } = await pool.query({
        name: 'webhook-hopeless',
        text: `select from webhook_deliveries d
               join webhook_health h on h.customer_id = d.customer_id and h.subscription_id = d.subscription_id
               where d.customer_id = $1 and d.id = $3 and d.subscription_id = $2 and d.state = 'failed'
                 and (h.last_success_at is null or h.last_success_at < d.first_attempt_at)`,
        values: [customerId, subscriptionId, deliveryId],
      });
      return rowCount === 1;
    },
    countNotice: async (client, { customerId, subscriptionId }, notice) => {
      const { rowCount } = await client.query({
        name: 'webhook-notice',
        text: `update webhook_health set notices = $3
               where customer_id = $1 and subscription_id = $2 and notices < $3 and failing_since is not null`,
        values: [customerId, subscriptionId, notice],
      });
      return rowCount === 1;
    },
    endFailing: async ({ customerId, subscriptionId }) => {
      await pool.query({
        name: 'webhook-end-failing',
        text: `update webhook_health set failing_since = null, notices = 0
               where customer_id = $1 and subscription_id = $2 and failing_since is not null`,
        values: [customerId, subscriptionId],
      });
    },
  };
};

interface EndpointRow {
  readonly status: string;
  readonly url: string;
  readonly payload: string;
  readonly authentication: string;
  readonly secretId: string;
  readonly previousSecretId: string | null;
  readonly revision: string;
  readonly dueMs: number | null;
  readonly slowMs: number | null;
  readonly failingMs: number | null;
  readonly failingSince: string | null;
  readonly notices: number | null;
  readonly heldMs: number | null;
}

const ms = (interval: string): string => `(extract(epoch from ${interval}) * 1000)::float8`;

/**
 * Parameters: account, subscription. A request of the subscriber ends the pause of a slow endpoint: it may have another URL, or be repaired. It
 * still gets one delivery first.
 */
const ENDPOINT = `
  select e.status, e.url, e.payload, e.authentication, e.secret_id as "secretId",
    case when e.previous_until > now() then e.previous_secret_id end as "previousSecretId", e.revision::text,
    ${ms('due.at - now()')} as "dueMs",
    case when h.slow_until > now() and e.changed_at > h.last_failure_at then 0
      else ${ms('h.slow_until - now()')} end as "slowMs",
    ${ms('now() - h.failing_since')} as "failingMs", h.failing_since::text as "failingSince", h.notices,
    ${ms('h.run_until - now()')} as "heldMs"
  from webhook_endpoints e
  left join webhook_health h using (customer_id, subscription_id)
  cross join lateral (
    select min(d.due_at) as at from webhook_deliveries d
    where d.customer_id = e.customer_id and d.subscription_id = e.subscription_id and d.state = 'due'
  ) due
  where e.customer_id = $1 and e.subscription_id = $2`;

const endpointOf = ({
  previousSecretId,
  dueMs,
  slowMs,
  failingMs,
  failingSince,
  notices,
  heldMs: _heldMs,
  ...endpoint
}: EndpointRow): Endpoint => ({
  ...endpoint,
  previousSecretId: previousSecretId ?? undefined,
  dueMs: dueMs ?? undefined,
  slowMs: slowMs ?? undefined,
  failingMs: failingMs ?? undefined,
  failingSince: failingSince ?? undefined,
  notices: notices ?? 0,
});

const beginRun = async (
  pool: Pool,
  { customerId, subscriptionId, runId }: Run,
): ReturnType<DeliveryRows['begin']> => {
  const { rows } = await pool.query<EndpointRow & { readonly isBegun: boolean }>({
    name: 'webhook-run-begin',
    text: `with begun as (
             insert into webhook_health as h (customer_id, subscription_id, run_id, run_until)
             select customer_id, subscription_id, $3, now() + ${LEASE_MS} * interval '1 millisecond'
             from webhook_endpoints where customer_id = $1 and subscription_id = $2
             on conflict (customer_id, subscription_id) do update
               set run_id = excluded.run_id, run_until = excluded.run_until
               where h.run_until is null or h.run_until <= now()
             returning h.run_id
           )
           select found.*, exists (select from begun) as "isBegun" from (${ENDPOINT}) found`,
    values: [customerId, subscriptionId, runId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const { isBegun, ...endpoint } = row;
  // Ended since the statement began.
  return isBegun ? endpointOf(endpoint) : { heldMs: Math.max(0, endpoint.heldMs ?? 0) };
};

interface Read {
  readonly run: Run;
  readonly countMax: number;
  readonly except: ReadonlySet<string>;
}

interface DueRow {
  readonly nth: number;
  readonly id: string;
  readonly attempts: number;
  readonly roundBeganAt: number;
  readonly revision: string;
  readonly messageId: string | null;
  readonly kind: string;
  readonly advertiserId: number | null;
  readonly occurredAt: Date;
  readonly data: unknown;
}

/** `now()` may bound an index scan; `clock_timestamp()` may not. */
const readAll = async (pool: Pool, reads: readonly Read[]): Promise<readonly (readonly DueDelivery[])[]> => {
  const { rows } = await pool.query<DueRow>({
    name: 'webhook-due',
    text: `with wanted as materialized (
             select w.nth, w.customer_id, w.subscription_id, w.count, w.known::uuid[] as known, e.revision
             from unnest($1::int[], $2::bigint[], $3::uuid[], $4::uuid[], $5::int[], $6::text[])
               as w(nth, customer_id, subscription_id, run_id, count, known)
             join webhook_endpoints e on e.customer_id = w.customer_id and e.subscription_id = w.subscription_id
               and e.status = 'active'
             join webhook_health h on h.customer_id = w.customer_id and h.subscription_id = w.subscription_id
               and h.run_id = w.run_id and h.run_until > now()
           )
           select w.nth, d.id, d.attempts, d.round_began_at as "roundBeganAt", w.revision::text, m.id as "messageId",
             m.kind, m.advertiser_id as "advertiserId", m.occurred_at as "occurredAt", m.data
           from wanted w
           cross join lateral (
             select d.customer_id, d.id, d.message_id, d.attempts, d.round_began_at, d.due_at from webhook_deliveries d
             where d.customer_id = w.customer_id and d.subscription_id = w.subscription_id and d.state = 'due'
               and d.due_at <= now() and d.id <> all (w.known)
             order by d.due_at limit w.count
           ) d
           left join webhook_messages m on m.customer_id = d.customer_id and m.id = d.message_id
           order by w.nth, d.due_at, m.position`,
    values: [
      int4Array(reads.map((_read, nth) => nth)),
      int8Array(reads.map(({ run }) => run.customerId)),
      uuidArray(reads.map(({ run }) => run.subscriptionId)),
      uuidArray(reads.map(({ run }) => run.runId)),
      int4Array(reads.map(({ countMax }) => countMax)),
      textArray(reads.map(({ except }) => `{${[...except].join()}}`)),
    ],
  });
  const found = reads.map((): DueDelivery[] => []);
  for (const row of rows) found[row.nth]?.push(deliveryOf(row));
  return found;
};

const deliveryOf = (row: DueRow): DueDelivery => ({
  id: row.id,
  attempts: row.attempts,
  roundBeganAt: row.roundBeganAt,
  revision: row.revision,
  message: row.messageId === null ? undefined : messageOf(row, row.messageId),
});

const messageOf = ({ kind, advertiserId, occurredAt, data }: DueRow, id: string): KeptNotification => {
  const { path, ...told } = MessageData.parse(data);
  return {
    ...told,
    id,
    kind,
    path: path ?? undefined,
    advertiserId: advertiserId ?? undefined,
    occurredAt: occurredAt.toISOString(),
  };
};
