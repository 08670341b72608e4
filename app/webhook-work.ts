import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createDeliveryRows } from '../command/workers/webhooks/delivery-rows.ts';
import { createDisableEndpoint } from '../command/workers/webhooks/disable-endpoint.ts';
import { createBodyOf, type MessageBodyOptions } from '../command/workers/webhooks/message-body.ts';
import { createNotifyAdmins } from '../command/workers/webhooks/notify-admins.ts';
import { IN_FLIGHT_PER_ENDPOINT } from '../command/workers/webhooks/run-deliveries.ts';
import { createInFlight } from '../command/workers/webhooks/in-flight.ts';
import { webhookDeliveries } from '../command/workers/webhooks/webhook-deliveries.ts';
import { createWebhookMetrics } from '../command/workers/webhooks/webhook-metrics.ts';
import { linksToPresent } from '../domain/notifications/kinds.ts';
import { readEventSource } from '../query/event-sources/routes.ts';
import { auditedKinds } from '../query/history/all-kinds.ts';
import { createReadPath, unlessRefused } from '../query/history/read-path.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import {
  createProjectionProgress,
  type ProjectionProgress,
} from '../shared/follow-log/projection-progress.ts';
import { createOutboundPosts } from '../shared/outbound/outbound-posts.ts';
import { createTenantDatabase, type TenantDatabase } from '../shared/postgres/tenant-database.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import type { SecretStore } from '../shared/secrets/secret-store.ts';
import type { WorkKind } from '../shared/work-list/run-work.ts';
import { outboundPolicyOf, type Config } from './config.ts';
import { findAdmins } from './lookups/find-admins.ts';
import { isFanOutWhole } from './lookups/fan-out-whole.ts';

const ATTEMPT_MS_MAX = 15_000;
const BODY_MS_MAX = 1_000;
const BODY_BYTES_MAX = 16 * 1024;
const HEAD_BYTES_MAX = 1_024;

/** Requests in flight in one process. */
const IN_FLIGHT = { atOnceMax: 64, perAccountMax: 32, probesMax: 16 };

export interface WebhookWorkOptions {
  readonly config: Config;
  readonly pool: Pool;
  readonly requestPool: Pool;
  readonly store: EventStore;
  readonly keys: () => Promise<KeyRing>;
  readonly secrets: SecretStore;
  readonly baseUrl: () => string;
  readonly changes: ProjectionProgress;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface WebhookWork {
  readonly kind: WorkKind;
  /** Connections to endpoints. */
  close(): Promise<void>;
}

/** @param workPool sees the rows of all accounts */
export const createWebhookWork = (
  options: WebhookWorkOptions,
  workPool: Pool,
  ending: AbortSignal,
): WebhookWork => {
  const { config, store, secrets, keys, pool, requestPool, baseUrl, changes, registry, log } = options;
  const rows = createDeliveryRows(workPool);
  const posts = createOutboundPosts({
    ...outboundPolicyOf(config),
    timeoutMs: ATTEMPT_MS_MAX,
    bodyMs: BODY_MS_MAX,
    bytesMax: BODY_BYTES_MAX,
    headBytesMax: HEAD_BYTES_MAX,
    connectionsPerReceiver: IN_FLIGHT_PER_ENDPOINT,
  });
  const kind = webhookDeliveries({
    rows,
    secrets,
    clock,
    inFlight: createInFlight(IN_FLIGHT),
    posts,
    bodyOf: createBodyOf({
      baseUrl,
      readResource: createReadResource(store, createTenantDatabase(requestPool), baseUrl),
      log,
    }),
    disable: createDisableEndpoint({ store, clock }),
    notifyAdmins: createNotifyAdmins({ pool, keys, rows, findAdmins: findAdmins(pool) }),
    count: createWebhookMetrics(registry, workPool),
    whenMore: (ms) => changes.beyond(FAN_OUT, changes.version(FAN_OUT), ms, ending),
    isEnding: () => ending.aborted,
    prepare: () => isFanOutWhole(workPool),
  });
  return { kind, close: () => posts.close() };
};

const createReadResource = (
  store: EventStore,
  database: TenantDatabase,
  baseUrl: () => string,
): MessageBodyOptions['readResource'] => {
  const reads = { database, progress: createProjectionProgress() };
  const readPath = createReadPath(store, auditedKinds({ ...reads, baseUrl }));
  return async (customerId, { kind, path, revision, resourceId, advertiserId }) => {
    if (path === undefined) return undefined;
    return linksToPresent(kind)
      ? readEventSource({ ...reads, store }, customerId, resourceId, advertiserId).catch(unlessRefused)
      : readPath(customerId, path, revision);
  };
};

/** Its projection: where it runs in this process, a run need not poll. */
const FAN_OUT = 'webhook-fan-out';
