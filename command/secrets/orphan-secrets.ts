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
  readonly pool: Pick<Pool, 'query'>;
  readonly log: Pick<Logger, 'warn'>;
}

interface Owners {
  /** The secret that the owner's stream refers to; undefined when it has none or no longer exists. */
  readonly secretOf: (customerId: number, ownerId: string) => Promise<string | undefined>;
  readonly streamOf: (customerId: number, ownerId: string) => string;
  readonly events: SchemaVersions;
}

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

/** True when the stream contains an event of a later version, which folding would ignore. */
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
  readonly keptAt: string;
  readonly suspect: boolean;
}

/** Longer than any request: the event that refers to a secret is written within this time or never. */
const YOUNG = "interval '1 hour'";
const FIRST = { customerId: 0, id: '00000000-0000-0000-0000-000000000000' };

/**
 * Purges secrets that no agent or connection refers to: after a failed registration, a replacement or a removal. Each
 * call examines the next `rowsMax` secrets and starts again after the last one.
 * For suspects the owner's stream decides. A secret that was stored again meanwhile stays. So does a secret whose
 * owner has an event of a later version, because that event may refer to it.
 */
export const createOrphanSecrets = ({ pool, log, ...stores }: OrphanSecretsOptions): Purgeable => {
  const owners = ownersOf(stores);
  let after: Pick<SecretRow, 'customerId' | 'id'> = FIRST;
  const isOrphan = async ({ customerId, id, kind, ownerId }: SecretRow): Promise<boolean> => {
    // Secrets of an unknown kind belong to a later version and stay.
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
