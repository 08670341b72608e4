import { z } from 'zod';

export const SyncAction = z.enum(['created', 'updated', 'unchanged', 'deleted', 'failed']);
export type SyncAction = z.infer<typeof SyncAction>;

/** Shared by all resources that an advertiser syncs under its own keys. */
export interface SyncedResource {
  readonly status: 'ACTIVE' | 'ARCHIVED';
  readonly customerId: number;
  readonly advertiserId: number;
  /** The buyer's id, unique within the advertiser and the type. The UUID is derived from it (`resourceIdOf`). */
  readonly key: string;
  /** The effect of the last event, as the answer of a sync names it. */
  readonly lastChange: Exclude<SyncAction, 'failed'>;
  readonly createdAt: string;
  readonly updatedAt: string;
}
