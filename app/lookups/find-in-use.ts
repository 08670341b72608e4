import { creativeFold } from '../../domain/creatives/creative.ts';
import { assetIdsOf } from '../../domain/creatives/resource.ts';
import { loadState } from '../../shared/aggregate/load-stream.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';

interface LookupReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

interface AssetReads extends LookupReads {
  readonly store: EventStore;
  readonly snapshots?: SnapshotStore;
}

interface UseRow extends Freshness {
  readonly used: boolean;
  readonly parked: readonly string[];
}

const UUID_LENGTH = 36;

/** Folds parked streams, whose rows may be old. @param assetId shown id @throws ReadModelBehindError */
export const isAssetInUse = async (
  { database, progress, ...stores }: AssetReads,
  customerId: number,
  assetId: string,
): Promise<boolean> => {
  const { used, parked } = await consistentRead<UseRow>({
    pool: boundTo(database, customerId),
    projection: 'creatives',
    progress,
    query: {
      name: 'asset-in-use',
      text: `select ${freshnessColumns('f')},
               exists (select from creative_assets a where a.customer_id = $1 and a.asset_id = $3) as used,
               array(select p.stream from parked_streams p
                     where p.projection = $2 and p.customer_id = $1) as parked
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, 'creatives', assetId],
    },
  });
  if (used) return true;
  for (const stream of parked) {
    const creative = await loadState(stores, creativeFold, customerId, stream.slice(-UUID_LENGTH));
    if (creative === undefined || creative.state === 'archived') continue;
    if (assetIdsOf(creative).includes(assetId)) return true;
  }
  return false;
};

/** A reachable agent deletes a switched-off record within this time. */
const DELETE_SECONDS = 600;

/** Ignores records switched off longer ago: their agent may be gone. @throws ReadModelBehindError */
export const isAgentInUse = async (
  { database, progress }: LookupReads,
  customerId: number,
  agentId: string,
): Promise<boolean> => {
  const { used } = await consistentRead<Freshness & { readonly used: boolean }>({
    pool: boundTo(database, customerId),
    projection: 'syndication',
    progress,
    query: {
      name: 'agent-in-use',
      text: `select ${freshnessColumns('f')},
               exists (select from syndication_records r where r.customer_id = $1 and r.agent_id = $3
                       and (r.status <> 'DISABLED' or r.waiting)
                       and (r.status <> 'DISABLED' or r.updated_at > now() - make_interval(secs => $4))) as used
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, 'syndication', agentId, DELETE_SECONDS],
    },
  });
  return used;
};
