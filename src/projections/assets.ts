import { assetEvents } from '../domain/assets/asset-events.ts';
import { ASSET, evolve, initialState, type Asset, type AssetState } from '../domain/assets/asset.ts';
import { countInBlocks } from './engine/blocks/count-in-blocks.ts';
import type { ListBlocks } from './engine/blocks/list-blocks.ts';
import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, countedChanges, type FoldedTable } from './folded-rows.ts';
import { addCounts } from './kept-counts.ts';

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

/** Of the libraries; each filter is a kind of its own: media kind, source, both. */
const assetBlocks: ListBlocks = {
  table: 'asset_blocks',
  rows: table.table,
  where: `r.status = 'READY'`,
  lists: 'advertiser',
  at: 'created_at',
  idType: 'uuid',
  kinds: `array[r.media_kind, '/' || r.source, r.media_kind || '/' || r.source]`,
};

/** The read model behind endpoint 8: tables `assets`, `asset_counts`, `asset_blocks`. */
export const assetsProjection: Projection = {
  name: 'assets',
  categories: [ASSET],
  tables: [table.table, 'asset_counts', assetBlocks.table],
  compared: {
    // The others are swept a week after their end (`command/assets/sweep-assets.ts`), or are about to be.
    [table.table]: {
      where: `not (status in ('EXPIRED', 'REMOVED') and expires_at < now() - interval '6 days 23 hours')`,
    },
    asset_counts: keptCounts,
  },
  blocks: [assetBlocks],
  apply: async (client, events) => {
    const changes = await applyFolded(client, table, events);
    await addCounts(
      client,
      { table: 'asset_counts', columns: ['kind'] },
      countedChanges(changes, (asset) => inLibrary(asset).map(counted)),
    );
    await countInBlocks(
      client,
      assetBlocks,
      countedChanges(changes, (asset) => inLibrary(asset).map(placed)),
    );
  },
};

/** What is in the library, and nothing that is on its way there. */
const inLibrary = (asset: Asset): readonly Asset[] => (asset.status === 'READY' ? [asset] : []);

const counted = ({ customerId, advertiserId, mediaKind, source }: Asset) => ({
  customerId,
  advertiserId,
  kind: [`${mediaKind}/${source}`],
});

const placed = ({ customerId, advertiserId, assetId, createdAt, mediaKind, source }: Asset) => ({
  customerId,
  advertiserId,
  at: createdAt,
  id: assetId,
  kinds: [mediaKind, `/${source}`, `${mediaKind}/${source}`],
});
