import type { SourceOfKey } from '../command/conversions/routes.ts';
import { shownAssetId } from '../domain/assets/resource.ts';
import type { WebhookHealth } from '../domain/webhooks/resource.ts';
import { audiencesTable } from '../query/audiences/list.ts';
import { catalogsTable } from '../query/catalogs/list.ts';
import { findAdvertiserNames } from '../query/engines/find-advertiser-names.ts';
import { eventSourcesTable, findEventSources } from '../query/event-sources/list.ts';
import { refuseIfBehind } from '../query/resources/refuse-if-behind.ts';
import type { ResourceTable } from '../query/resources/resource-reads.ts';
import { countNotifications, type NotificationPeriod } from '../query/webhooks/count-notifications.ts';
import { countWaiting, isWebhookDelivery } from '../query/webhooks/deliveries.ts';
import { findWebhookHealth } from '../query/webhooks/health.ts';
import type { SnapshotStore } from '../shared/aggregate/snapshots.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import type { AnswerCache } from '../shared/http/answer-cache.ts';
import type { Principal } from '../shared/http/principal.ts';
import type { TenantDatabase } from '../shared/postgres/tenant-database.ts';
import type { ProjectionProgress } from '../shared/follow-log/projection-progress.ts';
import { findActiveKeys } from './lookups/find-active-keys.ts';
import { isAgentInUse, isAssetInUse } from './lookups/find-in-use.ts';
import { findSubmission } from './lookups/find-submission.ts';

interface LookupReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly answers: AnswerCache;
}

/** Limit, in ms, for the names in the answer to a write. After that the write reads the streams. */
const NAMES_MS_MAX = 200;

/** Memory of one entry in the answer cache, in bytes, about. */
const SOURCE_OF_KEY_BYTES = 256;

/** Answers include the account's earlier writes; 503 when the read model does not reach them in time. */
export const createLookups = ({ database, progress, store, snapshots, answers }: LookupReads) => {
  const reads = { database, progress };
  const activeKeysOf = (table: ResourceTable) => (customerId: number, advertiserId: number) =>
    findActiveKeys(reads, table, customerId, advertiserId);
  return {
    activeEventSources: activeKeysOf(eventSourcesTable),
    activeAudiences: activeKeysOf(audiencesTable),
    activeCatalogs: activeKeysOf(catalogsTable),

    isAssetInUse: (customerId: number, assetId: string): Promise<boolean> =>
      isAssetInUse({ ...reads, store, snapshots }, customerId, shownAssetId(assetId)).catch(refuseIfBehind),

    isAgentInUse: (customerId: number, agentId: string): Promise<boolean> =>
      isAgentInUse(reads, customerId, agentId).catch(refuseIfBehind),

    findSubmission: (
      sellerAccount: number,
      submission: { readonly sellerId: number; readonly creativeId: string },
    ): Promise<number | undefined> =>
      findSubmission({ ...reads, store }, sellerAccount, submission).catch(refuseIfBehind),

    findAdvertiserNames: (customerId: number, ids: readonly number[]): Promise<ReadonlyMap<number, string>> =>
      findAdvertiserNames(reads, customerId, ids, NAMES_MS_MAX),

    advertiserNames: (customerId: number, ids: readonly number[]): Promise<ReadonlyMap<number, string>> =>
      findAdvertiserNames(reads, customerId, ids).catch(refuseIfBehind),

    webhookHealth: async (customerId: number, subscriptionId: string): Promise<WebhookHealth> =>
      (await findWebhookHealth(database, customerId, [subscriptionId]))[0] ?? {},

    isWebhookDelivery: (customerId: number, subscriptionId: string, deliveryId: string): Promise<boolean> =>
      isWebhookDelivery(database, customerId, subscriptionId, deliveryId),

    countWaiting: (customerId: number, subscriptionId: string, most: number): Promise<number> =>
      countWaiting(database, customerId, subscriptionId, most),

    countNotifications: (customerId: number, period: NotificationPeriod, most: number): Promise<number> =>
      countNotifications(reads, customerId, period, most).catch(refuseIfBehind),

    /** Cached: every conversion call asks. A key without a source is not: their number has no bound. */
    eventSourcesOfKey: ({ customerId, version }: Principal, key: string): Promise<readonly SourceOfKey[]> =>
      answers.answer(
        JSON.stringify([customerId, 'sources of a key', key]),
        version,
        async () => {
          const found = await findEventSources(reads, customerId, key).catch(refuseIfBehind);
          return found.map(({ sourceId, status }): SourceOfKey => ({ sourceId, status }));
        },
        (sources) => SOURCE_OF_KEY_BYTES * sources.length,
      ),
  };
};
