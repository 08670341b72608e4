import { assetEvents } from '../domain/assets/asset-events.ts';
import { ASSET, evolve, initialState, type Asset, type AssetState } from '../domain/assets/asset.ts';
import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';
import { addCounts, countedBy, type CountTable } from './kept-counts.ts';

const table: FoldedTable<AssetState, Asset> = {
  table: 'assets',
  category: ASSET,
  events: assetEvents,
  initialState,
  evolve,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, assetId }) => ({ customerId, id: assetId }),
  columns: [
    { name: 'advertiser_id', type: 'int4', value: ({ advertiserId }) => advertiserId, isFixed: true },
    { name: 'media_kind', type: 'text', value: ({ mediaKind }) => mediaKind, isFixed: true },
    { name: 'source', type: 'text', value: ({ source }) => source, isFixed: true },
    { name: 'name', type: 'text', value: ({ name }) => name, isFixed: true },
    { name: 'expires_at', type: 'timestamptz', value: ({ expiresAt }) => expiresAt, isFixed: true },
    { name: 'status', type: 'text', value: ({ status }) => status },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt },
  ],
};

const counts: CountTable<Asset> = {
  table: 'asset_counts',
  columns: countedBy(table, 'advertiser_id', 'media_kind', 'source'),
  counted: (asset) => (asset.status === 'READY' ? [asset] : []),
};

export const assetsProjection: Projection = {
  name: 'assets',
  categories: [ASSET],
  tables: [table.table, counts.table],
  compared: {
    // The sweep deletes the other rows a week after their end (`command/assets/sweep-assets.ts`); one hour of margin.
    [table.table]: {
      where: `not (status in ('EXPIRED', 'REMOVED') and expires_at < now() - interval '6 days 23 hours')`,
    },
    [counts.table]: keptCounts,
  },
  apply: async (client, events) => {
    await addCounts(client, counts, await applyFolded(client, table, events));
  },
};
