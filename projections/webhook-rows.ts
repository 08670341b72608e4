import type { ClientBase } from 'pg';
import type { KeptNotification } from '../domain/notifications/body.ts';
import { KEPT_DAYS } from '../domain/notifications/kept-days.ts';
import type { Position } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { inPieces } from './engine/send-in-order.ts';

export interface WebhookMessage extends KeptNotification {
  readonly customerId: number;
  readonly position: Position;
}

export interface WebhookDelivery {
  readonly id: string;
  readonly subscriptionId: string;
  /** The generation of the subscription (`webhook-endpoints.ts`). */
  readonly generation: number;
  readonly message: WebhookMessage;
}

export interface SubscriptionPlace {
  readonly customerId: number;
  readonly subscriptionId: string;
}

/**
 * Younger than rows are kept: if the log is applied again from the beginning, each event has its rows, or is
 * too old for new ones.
 */
export const DELIVERED_DAYS = KEPT_DAYS - 1;

/** Existing ones stay. @param days older events make none; default: no limit @returns subscriptions with new ones */
export const addDeliveries = async (
  client: ClientBase,
  deliveries: readonly WebhookDelivery[],
  days?: number,
): Promise<readonly SubscriptionPlace[]> => {
  const messages = [...new Map(deliveries.map(({ message }) => [message.id, message])).values()];
  for (const piece of inPieces(inOrder(messages))) await insertMessages(client, piece, days);
  const found = new Map<string, SubscriptionPlace>();
  for (const piece of inPieces(inOrder(deliveries.map((one) => ({ ...one, ...placeOf(one) }))))) {
    for (const place of await insertDeliveries(client, piece, days)) found.set(place.subscriptionId, place);
  }
  return [...found.values()];
};

const placeOf = ({ message: { customerId } }: WebhookDelivery) => ({ customerId });

/** So that two writers never wait for each other. */
const inOrder = <Row extends { readonly customerId: number; readonly id: string }>(
  rows: readonly Row[],
): readonly Row[] => [...rows].sort((a, b) => a.customerId - b.customerId || (a.id < b.id ? -1 : 1));

const isYoung = (days: string): string =>
  `(${days}::int is null or occurred_at::timestamptz > clock_timestamp() - make_interval(days => ${days}))`;

const insertMessages = async (
  client: ClientBase,
  messages: readonly WebhookMessage[],
  days: number | undefined,
): Promise<void> => {
  await client.query({
    name: 'webhook-messages-insert',
    text: `insert into webhook_messages (customer_id, id, position, kind, advertiser_id, occurred_at, data)
           select customer_id, id, position, kind, nullif(advertiser_id, -1), occurred_at::timestamptz, data::jsonb
           from unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::text[], $7::text[])
             as n(customer_id, id, position, kind, advertiser_id, occurred_at, data)
           where ${isYoung('$8')}
           on conflict do nothing`,
    values: [
      int8Array(messages.map(({ customerId }) => customerId)),
      uuidArray(messages.map(({ id }) => id)),
      textArray(messages.map(({ position }) => position)),
      textArray(messages.map(({ kind }) => kind)),
      int4Array(messages.map(({ advertiserId = -1 }) => advertiserId)),
      textArray(messages.map(({ occurredAt }) => occurredAt)),
      textArray(messages.map(dataOf)),
      days,
    ],
  });
};

const dataOf = ({ resourceType, resourceId, revision, changed, path }: WebhookMessage): string =>
  JSON.stringify({ resourceType, resourceId, revision, changed, path });

const insertDeliveries = async (
  client: ClientBase,
  deliveries: readonly (WebhookDelivery & { readonly customerId: number })[],
  days: number | undefined,
): Promise<readonly SubscriptionPlace[]> => {
  const { rows } = await client.query<{ customer_id: string; subscription_id: string }>({
    name: 'webhook-deliveries-insert',
    text: `with made as (
             insert into webhook_deliveries (customer_id, id, subscription_id, message_id, kind, state, generation)
             select customer_id, id, subscription_id, message_id, kind, 'due', generation
             from unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::int[], $7::text[])
               as n(customer_id, id, subscription_id, message_id, kind, generation, occurred_at)
             where ${isYoung('$8')}
             on conflict do nothing
             returning customer_id, subscription_id
           )
           select distinct customer_id, subscription_id from made`,
    values: [
      int8Array(deliveries.map(({ customerId }) => customerId)),
      uuidArray(deliveries.map(({ id }) => id)),
      uuidArray(deliveries.map(({ subscriptionId }) => subscriptionId)),
      uuidArray(deliveries.map(({ message }) => message.id)),
      textArray(deliveries.map(({ message }) => message.kind)),
      int4Array(deliveries.map(({ generation }) => generation)),
      textArray(deliveries.map(({ message }) => message.occurredAt)),
      days,
    ],
  });
  return rows.map((row) => ({ customerId: Number(row.customer_id), subscriptionId: row.subscription_id }));
};

/** Columns of a delivery that gets attempts again. */
const DUE_AGAIN = `state = 'due', round_began_at = d.attempts, due_at = clock_timestamp()`;

/** Decided by the row that was locked: a condition on the state would be about the row as the statement saw it first. */
const DUE_AGAIN_UNLESS_DUE = `state = 'due',
  round_began_at = case when d.state = 'due' then d.round_began_at else d.attempts end,
  due_at = case when d.state = 'due' then d.due_at else clock_timestamp() end`;

export interface Redelivery extends SubscriptionPlace {
  readonly deliveryId: string;
  readonly generation: number;
}

/** @param redeliveries at most one of each delivery @returns subscriptions whose deliveries are due again */
export const redeliver = async (
  client: ClientBase,
  redeliveries: readonly Redelivery[],
): Promise<readonly SubscriptionPlace[]> => {
  if (redeliveries.length === 0) return [];
  const { rows } = await client.query<{ customer_id: string; subscription_id: string }>({
    name: 'webhook-deliveries-again',
    text: `with changed as (
             update webhook_deliveries d set ${DUE_AGAIN}, generation = n.generation
             from unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::int[])
               as n(customer_id, id, subscription_id, generation)
             where d.customer_id = n.customer_id and d.id = n.id and d.subscription_id = n.subscription_id
               and d.generation < n.generation
             returning d.customer_id, d.subscription_id
           )
           select distinct customer_id, subscription_id from changed`,
    values: [
      int8Array(redeliveries.map(({ customerId }) => customerId)),
      uuidArray(redeliveries.map(({ deliveryId }) => deliveryId)),
      uuidArray(redeliveries.map(({ subscriptionId }) => subscriptionId)),
      int4Array(redeliveries.map(({ generation }) => generation)),
    ],
  });
  return rows.map((row) => ({ customerId: Number(row.customer_id), subscriptionId: row.subscription_id }));
};

/** Due deliveries of earlier generations are canceled. @returns their number, at most `rowsMax` */
export const cancelDue = async (
  client: Pick<ClientBase, 'query'>,
  { customerId, subscriptionId }: SubscriptionPlace,
  generation: number,
  rowsMax: number,
): Promise<number> => {
  const { rowCount } = await client.query({
    name: 'webhook-deliveries-cancel',
    // By id: a row that waited for a lock has another place (`ctid`), where this statement does not see it.
    text: `with found as materialized (
             select id from webhook_deliveries
             where customer_id = $1 and subscription_id = $2 and state = 'due' and generation < $3
             order by due_at limit $4 for update
           )
           update webhook_deliveries d set state = 'canceled', generation = $3 from found
           where d.customer_id = $1 and d.id = found.id`,
    values: [customerId, subscriptionId, generation, rowsMax],
  });
  return rowCount ?? 0;
};

/** `createdAt` (as Postgres prints it) and `id`. */
export type DeliveryCursor = Readonly<Record<string, string | number>>;

/** A delivery is created after its event, except for a difference of clocks. */
const CLOCKS_DIFFER = '1 day';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Failed and canceled deliveries of events since `since`, of earlier generations, are due again. Due ones get the
 * generation, too: they were tried when the recovery was requested, so a failure later is another matter.
 * @returns where to continue; undefined at the end
 */
export const recoverPage = async (
  client: ClientBase,
  { customerId, subscriptionId }: SubscriptionPlace,
  { generation, since }: { readonly generation: number; readonly since: string },
  after: DeliveryCursor | undefined,
  rowsMax: number,
): Promise<DeliveryCursor | undefined> => {
  const { rows } = await client.query<{ createdAt: string; id: string; count: number }>({
    name: 'webhook-deliveries-recover',
    text: `with page as materialized (
             select id, message_id, created_at from webhook_deliveries
             where customer_id = $1 and subscription_id = $2
               and (created_at, id) > (coalesce($5::timestamptz, $4::timestamptz - interval '${CLOCKS_DIFFER}'), $6::uuid)
             order by created_at, id limit $7
           ), found as (
             select d.id from page join webhook_deliveries d on d.customer_id = $1 and d.id = page.id
               join webhook_messages m on m.customer_id = $1 and m.id = page.message_id
             where d.state <> 'delivered' and d.generation < $3 and m.occurred_at >= $4::timestamptz
             order by d.id for update of d
           ), recovered as (
             update webhook_deliveries d set generation = $3, ${DUE_AGAIN_UNLESS_DUE} from found
             where d.customer_id = $1 and d.id = found.id
           )
           select created_at::text as "createdAt", id, (count(*) over ())::int as count
           from page order by created_at desc, id desc limit 1`,
    values: [
      customerId,
      subscriptionId,
      generation,
      since,
      after?.['createdAt'],
      after?.['id'] ?? FIRST_ID,
      rowsMax,
    ],
  });
  const [last] = rows;
  return last === undefined || last.count < rowsMax ? undefined : { createdAt: last.createdAt, id: last.id };
};

/**
 * Holds the subscription until the transaction ends: an event that ends its deliveries waits, or was applied before.
 * @returns false if deliveries have ended since `generation`
 */
export const holdLive = async (
  client: ClientBase,
  { customerId, subscriptionId }: SubscriptionPlace,
  generation: number,
): Promise<boolean> => {
  const { rowCount } = await client.query({
    name: 'webhook-endpoint-hold',
    text: `select from webhook_endpoints
           where customer_id = $1 and subscription_id = $2 and ended_generation <= $3
             and status in ('active', 'paused') for share`,
    values: [customerId, subscriptionId, generation],
  });
  return rowCount === 1;
};

/** Subscriptions with due deliveries. */
export const withDue = async (client: ClientBase): Promise<readonly SubscriptionPlace[]> => {
  const { rows } = await client.query<{ customer_id: string; subscription_id: string }>(
    `select distinct customer_id, subscription_id from webhook_deliveries where state = 'due'`,
  );
  return rows.map((row) => ({ customerId: Number(row.customer_id), subscriptionId: row.subscription_id }));
};
