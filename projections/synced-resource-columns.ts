import type { SyncedResource } from '../domain/resource-syncs/resource.ts';
import type { Column } from './folded-rows.ts';

export const syncedResourceColumns: readonly Column<SyncedResource>[] = [
  { name: 'advertiser_id', type: 'int4', value: ({ advertiserId }) => advertiserId, isFixed: true },
  { name: 'key', type: 'text', value: ({ key }) => key, isFixed: true },
  { name: 'status', type: 'text', value: ({ status }) => status },
  { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
];
