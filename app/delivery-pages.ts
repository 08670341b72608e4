import type { ClientBase, Pool } from 'pg';
import type { DeliveryPages } from '../command/workers/webhooks/change-rows.ts';
import { WEBHOOK } from '../domain/webhooks/work.ts';
import {
  addDeliveries,
  cancelDue,
  holdLive,
  recoverPage,
  type SubscriptionPlace,
} from '../projections/webhook-rows.ts';
import { derivedId } from '../shared/aggregate/ids.ts';
import { START } from '../shared/event-store/event-store.ts';
import { inTransaction } from '../shared/postgres/pool.ts';
import { requestWork } from '../shared/work-list/request-work.ts';
import { isFeedAt, replayedPage } from './lookups/replayed-notifications.ts';

const ROWS_MAX = 1_000;

/** @param pool not bound to an account */
export const createDeliveryPages = (pool: Pool): DeliveryPages => ({
  cancel: async (place, generation) =>
    (await cancelDue(pool, place, generation, ROWS_MAX)) < ROWS_MAX ? undefined : {},
  recover: (place, change, after) =>
    inTransaction(pool, async (client) => {
      if (!(await holdLive(client, place, change.generation))) return undefined;
      const end = await recoverPage(client, place, change, after, ROWS_MAX);
      await requestNow(client, place);
      return end;
    }),
  replay: (place, { replayId, ...change }, after) =>
    inTransaction(pool, async (client) => {
      if (!(await holdLive(client, place, change.generation))) return undefined;
      const { notifications, end } = await replayedPage(client, place.customerId, change, after, ROWS_MAX);
      const deliveries = notifications.map((notification) => ({
        id: derivedId(notification.id, replayId),
        subscriptionId: place.subscriptionId,
        generation: change.generation,
        message: { ...notification, customerId: place.customerId },
      }));
      if ((await addDeliveries(client, deliveries)).length > 0) await requestNow(client, place);
      return end;
    }),
  isFeedAt: (position) => isFeedAt(pool, position),
});

const requestNow = (
  client: ClientBase,
  { customerId, subscriptionId: key }: SubscriptionPlace,
): Promise<void> => requestWork(client, WEBHOOK, [{ customerId, key, revision: START }], { isAgain: true });
