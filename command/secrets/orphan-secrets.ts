import type { Pool } from 'pg';
import { agentEvents } from '../../domain/agents/events.ts';
import { AGENT, agentStream } from '../../domain/agents/agent.ts';
import { engineConnectionEvents } from '../../domain/engines/events.ts';
import { ENGINE_CONNECTION, engineConnectionStream } from '../../domain/engines/engine-connection.ts';
import { sellerEvents } from '../../domain/sellers/events.ts';
import { SELLERS, sellerDirectoryStream } from '../../domain/sellers/seller-directory.ts';
import { webhookEvents } from '../../domain/webhooks/events.ts';
import {
  WEBHOOK_SUBSCRIPTION,
  webhookSubscriptionStream,
} from '../../domain/webhooks/webhook-subscription.ts';
import type { SchemaVersions } from '../../shared/aggregate/event-versions.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { deleteStoredSecret, secretsAfter, type StoredSecret } from '../../shared/secrets/stored-secrets.ts';
import type { Clock } from '../../shared/async/clock.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { USER } from '../accounts/two-factor.ts';
import { MAIL } from '../workers/mail/request-mail.ts';
import { loadAgent } from '../agents/handler.ts';
import { loadConnection, type ConnectionStores } from '../engines/handler.ts';
import { loadDirectory } from '../sellers/handler.ts';
import { secretsOfSubscription } from '../webhooks/handler.ts';

export interface OrphanSecretsOptions extends ConnectionStores {
  readonly clock: Clock;
  readonly pool: Pick<Pool, 'query'>;
  readonly log: Pick<Logger, 'warn'>;
}

/** Called for secrets that `FindInUse` does not find in use. */
type IsOrphan = (secret: StoredSecret) => Promise<boolean>;

const ownersOf = (
  stores: ConnectionStores & Pick<OrphanSecretsOptions, 'clock'>,
): Readonly<Record<string, IsOrphan>> => ({
  [AGENT]: isOrphanOfStream(stores.store, {
    secretsOf: async (customerId, agentId) => [(await loadAgent(stores, customerId, agentId))?.secretId],
    streamOf: agentStream,
    events: agentEvents,
  }),
  [ENGINE_CONNECTION]: isOrphanOfStream(stores.store, {
    secretsOf: async (customerId, slotId) => [(await loadConnection(stores, customerId, slotId))?.secretId],
    streamOf: engineConnectionStream,
    events: engineConnectionEvents,
  }),
  [WEBHOOK_SUBSCRIPTION]: isOrphanOfStream(stores.store, {
    secretsOf: (customerId, id) => secretsOfSubscription(stores, customerId, id),
    streamOf: webhookSubscriptionStream,
    events: webhookEvents,
  }),
  [SELLERS]: isOrphanOfStream(stores.store, {
    secretsOf: async () => (await loadDirectory(stores)).map(({ agent }) => agent?.secretId),
    streamOf: () => sellerDirectoryStream,
    events: sellerEvents,
  }),
  // Logins and the work list, which `FindInUse` reads, do not lag.
  [USER]: async () => true,
  [MAIL]: async () => true,
});

interface StreamOwner {
  /** None when the owner no longer exists. */
  readonly secretsOf: (customerId: number, ownerId: string) => Promise<readonly (string | undefined)[]>;
  readonly streamOf: (customerId: number, ownerId: string) => string;
  readonly events: SchemaVersions;
}

const isOrphanOfStream =
  (store: EventStore, { secretsOf, streamOf, events }: StreamOwner): IsOrphan =>
  async ({ customerId, id, ownerId }) =>
    !(await secretsOf(customerId, ownerId)).includes(id) &&
    !(await holdsUnknown(store, streamOf(customerId, ownerId), events));

/** True when the stream contains an event of a later version, which folding would ignore. */
const holdsUnknown = async (store: EventStore, stream: string, events: SchemaVersions): Promise<boolean> => {
  for await (const { type, metadata } of store.readStream(stream)) {
    const known = Object.hasOwn(events, type) ? events[type] : undefined;
    if (known === undefined || known.schemaVersion < metadata.schemaVersion) return true;
  }
  return false;
};

const FIRST = { customerId: 0, id: '00000000-0000-0000-0000-000000000000' };

/** Whether an owner refers to each secret, in the order of the arguments. May lag behind the streams. */
type FindInUse = (secrets: readonly StoredSecret[]) => Promise<readonly boolean[]>;

/**
 * Each call examines the next `rowsMax` secrets, from the start again after the last one. A secret stays when
 * it was stored again, or when its owner has an event of a later version, which may refer to it.
 */
export const createOrphanSecrets = (
  { pool, log, ...stores }: OrphanSecretsOptions,
  findInUse: FindInUse,
): Purgeable => {
  const owners = ownersOf(stores);
  let after: Pick<StoredSecret, 'customerId' | 'id'> = FIRST;
  // Secrets of an unknown kind belong to a later version and stay.
  const isOrphan = async (secret: StoredSecret): Promise<boolean> =>
    (await owners[secret.kind]?.(secret)) ?? false;
  return {
    purge: async (rowsMax) => {
      const rows = await secretsAfter(pool, after, rowsMax);
      after = rows.length < rowsMax ? FIRST : (rows.at(-1) ?? FIRST);
      const old = rows.filter(({ isNew }) => !isNew);
      const isInUse = await findInUse(old);
      let purged = 0;
      for (const row of old.filter((_, n) => isInUse[n] === false)) {
        const purge = async () => ((await isOrphan(row)) ? deleteStoredSecret(pool, row) : 0);
        purged += await purge().catch((error: unknown) => {
          const { customerId, id, kind, ownerId } = row;
          log.warn(
            { err: error, customerId, secretId: id, kind, ownerId },
            'an orphan secret was not purged',
          );
          return 0;
        });
      }
      return purged;
    },
  };
};
