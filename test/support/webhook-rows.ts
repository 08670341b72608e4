import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { KeptNotification } from '../../domain/notifications/body.ts';
import { WEBHOOK } from '../../domain/webhooks/work.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import { requestWork } from '../../shared/work-list/request-work.ts';

export interface EndpointRow {
  readonly customerId: number;
  readonly subscriptionId: string;
  readonly secret: string;
}

export interface EndpointOptions {
  readonly url: string;
  readonly customerId?: number;
  readonly secret?: string;
  readonly previous?: { readonly secret: string; readonly seconds: number };
  readonly payload?: 'thin' | 'full';
  readonly authentication?: 'none' | 'bearer';
  readonly status?: string;
}

export const SECRET = `whsec_${Buffer.from('a key of at least thirty-two bytes').toString('base64')}`;

/** As the fan-out writes it after the event. */
export const insertEndpoint = async (
  pool: Pool,
  secrets: SecretStore,
  { url, customerId = 7, secret = SECRET, previous, ...given }: EndpointOptions,
): Promise<EndpointRow> => {
  const { payload = 'thin', authentication = 'none', status = 'active' } = given;
  const subscriptionId = randomUUID();
  const put = async (text: string): Promise<string> => {
    const id = randomUUID();
    await secrets.put(customerId, id, text, { kind: WEBHOOK, id: subscriptionId });
    return id;
  };
  await pool.query(
    `insert into webhook_endpoints (customer_id, subscription_id, status, url, event_types, payload, authentication,
       secret_id, previous_secret_id, previous_until, revision, changed_at)
     values ($1, $2, $3, $4, '{*}', $5, $6, $7, $8, now() + make_interval(secs => $9), 1, now())`,
    [
      customerId,
      subscriptionId,
      status,
      url,
      payload,
      authentication,
      await put(secret),
      previous === undefined ? null : await put(previous.secret),
      previous?.seconds ?? 0,
    ],
  );
  return { customerId, subscriptionId, secret };
};

const data = {
  resourceType: 'ADVERTISER',
  resourceId: '12345',
  revision: 3,
  changed: ['name'],
  path: '/api/v2/buyer/advertisers/12345',
};

/** As a worker reads those of `insertDeliveries`. */
export const sampleNotification = (): KeptNotification => ({
  ...data,
  id: randomUUID(),
  kind: 'advertiser.updated',
  advertiserId: 12_345,
  occurredAt: '2026-03-01T10:00:00.000Z',
});

export interface DeliveryRow {
  readonly id: string;
  readonly messageId: string;
}

let position = 0;

/** Messages and due deliveries of them, and the work that the fan-out requests. */
export const insertDeliveries = async (
  pool: Pool,
  { customerId, subscriptionId }: EndpointRow,
  count: number,
): Promise<readonly DeliveryRow[]> => {
  const rows = Array.from({ length: count }, () => ({ id: randomUUID(), messageId: randomUUID() }));
  const from = (position += count) - count;
  await inTransaction(pool, async (client) => {
    await client.query(
      `with made as (
         insert into webhook_messages (customer_id, id, position, kind, advertiser_id, occurred_at, data)
         select $1, message_id, lpad(($2 + n)::text, 20, '0'), 'advertiser.updated', 12345, '2026-03-01T10:00:00.000Z', $3
         from unnest($4::uuid[]) with ordinality as m(message_id, n)
       )
       insert into webhook_deliveries (customer_id, id, subscription_id, message_id, kind, state)
       select $1, id, $5, message_id, 'advertiser.updated', 'due' from unnest($6::uuid[], $4::uuid[]) as d(id, message_id)`,
      [customerId, from, data, rows.map((row) => row.messageId), subscriptionId, rows.map((row) => row.id)],
    );
    const revision = String(position).padStart(20, '0');
    await requestWork(client, WEBHOOK, [{ customerId, key: subscriptionId, revision }]);
  });
  return rows;
};
