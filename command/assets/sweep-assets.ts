import { isoTimestamp } from '../../shared/async/clock.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { objectKeyOf } from '../../shared/storage/object-store.ts';
import { createSweep } from '../../shared/work-list/sweep.ts';
import { executeOnAsset, loadAsset, type AssetWrites } from './handler.ts';
import { createObjectAttempts, type UnsettledAttempt } from './object-attempts.ts';

type SweepWrites = Pick<AssetWrites, 'store' | 'pool' | 'clock' | 'objects'>;

export interface OverdueReservation {
  readonly customerId: number;
  readonly id: string;
  /** Text keeps the microseconds. */
  readonly expiresAt: string;
}

type FindOverdue = (
  after: OverdueReservation | undefined,
  rowsMax: number,
) => Promise<readonly OverdueReservation[]>;

/** Expires reservations whose bytes never came, so that no bytes can arrive later. */
export const createOverdueReservations = (
  writes: Omit<SweepWrites, 'pool'>,
  findOverdue: FindOverdue,
  runMsMax?: number,
): Purgeable =>
  createSweep<OverdueReservation>(
    {
      find: findOverdue,
      work: async ({ customerId, id }) => {
        const commandId = derivedId(id, 'expire');
        const context = { commandId, customerId, actor: 'worker:expire-uploads', requestId: commandId };
        const now = isoTimestamp(writes.clock.now());
        await executeOnAsset(writes, id, { type: 'ExpireReservation', now }, { context });
      },
    },
    runMsMax,
  );

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
