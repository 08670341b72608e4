import type { Pool } from 'pg';
import { invitationHousekeeping } from '../command/accounts/settle-invitations.ts';
import { createRetiredKeys } from '../command/accounts/retire-keys.ts';
import { signInHousekeeping } from '../command/accounts/settle-sign-in.ts';
import { unusedClients } from '../command/accounts/oauth/clients.ts';
import { createOrphanedObjects, createOverdueReservations } from '../command/assets/sweep-assets.ts';
import { createOldAttempts } from '../command/audit/attempt-log.ts';
import { createEndedFlights } from '../command/campaigns/complete-campaigns.ts';
import { createOrphanSecrets } from '../command/secrets/orphan-secrets.ts';
import { createLinkTokenOf } from '../command/workers/mail/link-token.ts';
import { MAIL } from '../command/workers/mail/request-mail.ts';
import { expiredRows } from '../projections/expired-rows.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import type { SnapshotStore } from '../shared/aggregate/snapshots.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import { findEndedFlights, findOverdueReservations } from './lookups/overdue.ts';
import { findSecretsInUse } from './lookups/secrets-in-use.ts';
import { purgeRegularly, type Purgeable } from '../shared/async/purge-regularly.ts';
import { endedWork } from '../shared/work-list/ended-work.ts';
import { oldRows } from '../shared/postgres/old-rows.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';

interface HousekeepingStores {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  /** Sees the rows of all accounts. */
  readonly pool: Pool;
  readonly keys: () => Promise<KeyRing>;
  readonly objects: ObjectStore;
  readonly log: Logger;
}

export const housekeeping = ({
  store,
  snapshots,
  pool,
  keys,
  objects,
  log,
}: HousekeepingStores): Readonly<Record<string, Purgeable>> => {
  const uploads = { store, pool, clock, objects };
  return {
    'API keys': createRetiredKeys({ store, snapshots, pool, clock }),
    ...signInHousekeeping({ store, snapshots, pool }),
    ...invitationHousekeeping({ store, snapshots, pool, clock, keys, linkTokenOf: createLinkTokenOf(keys) }),
    'unused OAuth clients': unusedClients(pool),
    'codes and tokens of OAuth clients': oldRows(pool, 'oauth_records', { column: 'kept_until', days: 0 }),
    'ended consents to OAuth clients': oldRows(pool, 'oauth_grants', {
      column: 'least(revoked_at, expires_at)',
      days: 7,
    }),
    'orphan secrets': createOrphanSecrets({ store, snapshots, pool, clock, log }, findSecretsInUse(pool)),
    'refused requests': createOldAttempts(pool),
    'processes that had streams': oldRows(pool, 'realtime_nodes', { column: 'expires_at', days: 1 }),
    'sessions of agents': oldRows(pool, 'mcp_sessions', { column: 'used_at', days: 1 }),
    // Operators look at the last days.
    'mails that were given up': endedWork(pool, MAIL, 7),
    'ended flights': createEndedFlights({ store, clock }, findEndedFlights(pool)),
    ...expiredRows(pool),
    'reservations of uploads': createOverdueReservations(uploads, findOverdueReservations(pool)),
    'objects of no asset': createOrphanedObjects(uploads),
  };
};

/** Longer than any upload goes without a byte, in ms. */
const DRAFT_IDLE_MS_MAX = 10 * 60_000;

/** Deletes drafts of uploads on the disk of this machine. No other machine can delete them. */
export const sweepDrafts = (
  { ROLES }: Config,
  objects: ObjectStore,
  log: Logger,
  signal: AbortSignal,
): void => {
  if (!ROLES.includes('api')) return;
  purgeRegularly('drafts of uploads', { purge: () => objects.sweep(DRAFT_IDLE_MS_MAX) }, log, signal);
};
