import { isoTimestamp } from '../../shared/clock.ts';
import { eachOf } from '../../shared/each-of.ts';
import { derivedId } from '../../shared/ids.ts';
import type { Purgeable } from '../../shared/purge-regularly.ts';
import { objectKeyOf } from '../../shared/storage/object-store.ts';
import { loadAsset, runOnAsset, type AssetWrites } from './asset-writes.ts';
import { createObjectAttempts } from './object-attempts.ts';

type SweepWrites = Pick<AssetWrites, 'store' | 'pool' | 'clock' | 'objects'>;

/** How long after its token's end an upload may still be under way: longer than any request lasts. */
const OVERDUE_MINUTES = 60;

/** Reservations whose bytes never came: they end, so that nothing arrives at them any more. */
export const createOverdueReservations = (writes: SweepWrites): Purgeable => ({
  purge: async (rowsMax) => {
    const { rows } = await writes.pool.query<{ customerId: number; id: string }>({
      name: 'overdue-reservations',
      text: `select customer_id::int as "customerId", id from assets
             where status = 'RESERVED' and expires_at < clock_timestamp() - interval '${OVERDUE_MINUTES} minutes'
             order by expires_at limit $1`,
      values: [rowsMax],
    });
    await eachOf(rows, async ({ customerId, id }) => {
      const commandId = derivedId(id, 'expire');
      const context = { commandId, customerId, actor: 'worker:expire-uploads', requestId: commandId };
      const now = isoTimestamp(writes.clock.now());
      await runOnAsset(writes, id, { type: 'ExpireReservation', now }, context);
    });
    // Until the rows say so, they are found again: what is left of a full page waits for the next round.
    return 0;
  },
});

/** After the end of a reservation: time enough to look at what has become of it. */
const GONE_DAYS = 7;

/**
 * Rows of reservations that have expired and of assets that were deleted. Nothing shows them, and their streams have
 * ended: no event can come that would need them.
 */
export const createGoneAssets = ({ pool }: Pick<AssetWrites, 'pool'>): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'purge-gone-assets',
      text: `delete from assets where ctid = any(array(
               select ctid from assets
               where status in ('EXPIRED', 'REMOVED')
                 and expires_at < clock_timestamp() - interval '${GONE_DAYS} days'
               order by expires_at limit $1 for update skip locked))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});

/**
 * Objects that were never settled: those of no asset are removed. The asset's stream has the last word, not its row
 * in a read model, which may be behind.
 */
export const createOrphanedObjects = (writes: SweepWrites): Purgeable => {
  const attempts = createObjectAttempts(writes.pool);
  return {
    purge: async (rowsMax) => {
      const unsettled = await attempts.unsettled(rowsMax);
      await eachOf(unsettled, async ({ customerId, assetId, storageKey }) => {
        const asset = await loadAsset(writes.store, customerId, assetId);
        const isKept = asset.status === 'READY' && asset.storageKey === storageKey;
        const object = objectKeyOf(storageKey);
        if (!isKept && object !== undefined) await writes.objects.remove(object);
        await attempts.end(storageKey);
      });
      return unsettled.length;
    },
  };
};
