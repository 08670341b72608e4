import type { Pool } from 'pg';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { inTransaction } from '../../../shared/postgres/pool.ts';
import type { KeyRing } from '../../../shared/secrets/key-ring.ts';
import { requestMail } from '../mail/request-mail.ts';
import type { DeliveryRows, Endpoint, SubscriptionKey } from './delivery-rows.ts';

/** @param notice number of the notice about this failure */
export type NotifyAdmins = (
  subscription: SubscriptionKey,
  endpoint: Endpoint,
  notice: number,
) => Promise<void>;

export interface NotifyAdminsOptions {
  readonly pool: Pool;
  readonly keys: () => Promise<KeyRing>;
  readonly rows: Pick<DeliveryRows, 'countNotice'>;
  /** User ids. */
  readonly findAdmins: (customerId: number) => Promise<readonly string[]>;
}

/** Each notice once: it is counted in the transaction that requests its mails. */
export const createNotifyAdmins =
  ({ pool, keys, rows, findAdmins }: NotifyAdminsOptions): NotifyAdmins =>
  async (subscription, { url, failingSince }, notice) => {
    const { customerId, subscriptionId } = subscription;
    const admins = await findAdmins(customerId);
    await inTransaction(pool, async (client) => {
      if (!(await rows.countNotice(client, subscription, notice))) return;
      for (const userId of admins) {
        const mailId = derivedId(subscriptionId, `failing:${failingSince}:${notice}:${userId}`);
        // The path may contain a token.
        const { host } = new URL(url);
        const request = { type: 'webhook-failing', userId, subscriptionId, host, notice };
        await requestMail(client, keys, { customerId, mailId, request });
      }
    });
  };
