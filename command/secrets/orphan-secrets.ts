import type { Pool } from 'pg';
import { agentEvents } from '../../domain/agents/agent-events.ts';
import { AGENT, agentStream } from '../../domain/agents/agent.ts';
import { engineConnectionEvents } from '../../domain/engines/engine-connection-events.ts';
import { ENGINE_CONNECTION, engineConnectionStream } from '../../domain/engines/engine-connection.ts';
import type { SchemaVersions } from '../../shared/aggregate/event-versions.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { loadAgent } from '../agents/load-agent.ts';
import { loadConnection, type ConnectionStores } from '../engines/run-on-connection.ts';

export interface OrphanSecretsOptions extends ConnectionStores {
  /** Sees the rows of all accounts. */
  readonly pool: Pick<Pool, 'query'>;
  readonly log: Pick<Logger, 'warn'>;
}

interface Owners {
  /** The id of the secret that an owner has now, as its stream says; undefined when it has none, or is gone. */
  readonly secretOf: (customerId: number, ownerId: string) => Promise<string | undefined>;
  readonly streamOf: (customerId: number, ownerId: string) => string;
  readonly events: SchemaVersions;
}

/** By kind of owner (`SecretOwner`). */
const ownersOf = (stores: ConnectionStores): Readonly<Record<string, Owners>> => ({
  [AGENT]: {
    secretOf: async (customerId, agentId) => (await loadAgent(stores, customerId, agentId))?.secretId,
    streamOf: agentStream,
    events: agentEvents,
  },
  [ENGINE_CONNECTION]: {
    secretOf: async (customerId, slotId) => (await loadConnection(stores, customerId, slotId))?.secretId,
    streamOf: engineConnectionStream,
    events: engineConnectionEvents,
  },
});

/** Whether a stream holds what only a later version knows: folding leaves it out. */
const holdsUnknown = async (store: EventStore, stream: string, events: SchemaVersions): Promise<boolean> => {
  for await (const { type, metadata } of store.readStream(stream)) {
    const known = Object.hasOwn(events, type) ? events[type] : undefined;
    if (known === undefined || known.schemaVersion < metadata.schemaVersion) return true;
  }
  return false;
};

interface SecretRow {
  readonly customerId: number;
  readonly id: string;
  readonly kind: string;
  readonly ownerId: string;
  /** As text: microseconds count. */
  readonly keptAt: string;
  readonly suspect: boolean;
}

/** Much longer than a request lasts: whoever keeps a secret writes the event that names it by then, or never. */
const YOUNG = "interval '1 hour'";
const FIRST = { customerId: 0, id: '00000000-0000-0000-0000-000000000000' };

/**
 * Secrets that nothing leads to: kept for an agent or a connection that then did not come about, replaced by another
 * one, or left behind by what is gone. Each call looks at the next `rowsMax` secrets, and begins again after the last
 * one. What the read models do not know is asked of the owner's stream, which has the last word; a secret that was kept
 * again meanwhile stays. So does one whose owner's stream holds an event that only a later version knows, while both are
 * running: that event may name the secret.
 */
export const createOrphanSecrets = ({ pool, log, ...stores }: OrphanSecretsOptions): Purgeable => {
  const owners = ownersOf(stores);
  let after: Pick<SecretRow, 'customerId' | 'id'> = FIRST;
  const isOrphan = async ({ customerId, id, kind, ownerId }: SecretRow): Promise<boolean> => {
    // What is of a kind that only a later version knows stays.
    const owner = owners[kind];
    if (owner === undefined || (await owner.secretOf(customerId, ownerId)) === id) return false;
    return !(await holdsUnknown(stores.store, owner.streamOf(customerId, ownerId), owner.events));
  };
  const purgeOne = async (row: SecretRow): Promise<number> => {
    if (!(await isOrphan(row))) return 0;
    const { rowCount } = await pool.query(
      `delete from secrets where customer_id = $1 and id = $2 and created_at = $3::timestamptz`,
      [row.customerId, row.id, row.keptAt],
    );
    return rowCount ?? 0;
  };
  return {
    purge: async (rowsMax) => {
      const { rows } = await pool.query<SecretRow>(
        `select s.customer_id::float8 as "customerId", s.id, s.created_at::text as "keptAt",
           s.owner_kind as kind, s.owner_id as "ownerId", s.created_at < now() - ${YOUNG}
             and not exists (
               select from adcp_agents a
               where a.customer_id = s.customer_id and a.id = s.owner_id
                 and a.status = 'ACTIVE' and (a.body::jsonb)->>'secretId' = s.id::text)
             and not exists (
               select from engine_connections c
               where c.customer_id = s.customer_id and c.id = s.owner_id
                 and c.status = 'connected' and c.secret_id = s.id) as suspect
         from secrets s
         where (s.customer_id, s.id) > ($1::bigint, $2::uuid)
         order by s.customer_id, s.id limit $3`,
        [after.customerId, after.id, rowsMax],
      );
      after = rows.length < rowsMax ? FIRST : (rows.at(-1) ?? FIRST);
      let purged = 0;
      for (const row of rows.filter(({ suspect }) => suspect)) {
        purged += await purgeOne(row).catch((error: unknown) => {
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
