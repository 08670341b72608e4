import { z } from 'zod';

export const SyncAction = z.enum(['created', 'updated', 'unchanged', 'deleted', 'failed']);
export type SyncAction = z.infer<typeof SyncAction>;

export interface SyncedResource {
  readonly status: 'ACTIVE' | 'ARCHIVED';
  readonly customerId: number;
  readonly advertiserId: number;
  /** The buyer's id, unique within advertiser and type. The UUID derives from it (`resourceIdOf`). */
  readonly key: string;
  /** As the answer of a sync names it. */
  readonly lastChange: Exclude<SyncAction, 'failed'>;
  readonly createdAt: string;
  readonly updatedAt: string;
}
