import { isoTimestamp } from '../../shared/async/clock.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { objectKeyOf } from '../../shared/storage/object-store.ts';
import { createSweep } from '../../shared/work-list/sweep.ts';
import { executeOnAsset, loadAsset, type AssetWrites } from './asset-writes.ts';
import { createObjectAttempts, type UnsettledAttempt } from './object-attempts.ts';

type SweepWrites = Pick<AssetWrites, 'store' | 'pool' | 'clock' | 'objects'>;

/** Longer than any upload can last after its token has expired. */
const OVERDUE_MINUTES = 60;

interface ReservedRow {
  readonly customerId: number;
  readonly id: string;
  readonly expiresAt: string;
}

const FIRST_RESERVED: ReservedRow = {
  customerId: 0,
  id: '00000000-0000-0000-0000-000000000000',
  expiresAt: '-infinity',
};

/** Expires reservations whose bytes never came, so that no bytes can arrive later. */
export const createOverdueReservations = (writes: SweepWrites, runMsMax?: number): Purgeable =>
  createSweep<ReservedRow>(
    {
      find: async (after = FIRST_RESERVED, rowsMax) => {
        const { rows } = await writes.pool.query<ReservedRow>({
          name: 'overdue-reservations',
          text: `select customer_id::float8 as "customerId", id, expires_at::text as "expiresAt" from assets
                 where status = 'RESERVED'
                   and expires_at < now() - interval '${OVERDUE_MINUTES} minutes'
                   and (expires_at, customer_id, id) > ($1::timestamptz, $2::bigint, $3::uuid)
                 order by expires_at, customer_id, id limit $4`,
          values: [after.expiresAt, after.customerId, after.id, rowsMax],
        });
        return rows;
      },
      work: async ({ customerId, id }) => {
        const commandId = derivedId(id, 'expire');
        const context = { commandId, customerId, actor: 'worker:expire-uploads', requestId: commandId };
        const now = isoTimestamp(writes.clock.now());
        await executeOnAsset(writes, id, { type: 'ExpireReservation', now }, { context });
      },
    },
    runMsMax,
  );

const GONE_DAYS = 7;

/** Reads do not show these rows, and their streams have ended, so no event needs them. */
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

/** Deletes unsettled objects that belong to no asset. The asset's stream decides, because its read model may lag. */
export const createOrphanedObjects = (writes: SweepWrites): Purgeable => {
  const attempts = createObjectAttempts(writes.pool);
  return createSweep({
    find: (after: UnsettledAttempt | undefined, rowsMax) => attempts.unsettled(after, rowsMax),
    work: async ({ customerId, assetId, storageKey }) => {
      const { state: asset } = await loadAsset(writes, customerId, assetId);
      const isKept = asset.status === 'READY' && asset.storageKey === storageKey;
      const object = objectKeyOf(storageKey);
      if (!isKept && object !== undefined) await writes.objects.remove(object);
      await attempts.end(storageKey);
    },
  });
};
