import { assetFold } from '../domain/assets/asset.ts';
import { foldedReadModel } from './folded-read-model.ts';

const readModel = foldedReadModel({
  ...assetFold,
  name: 'assets',
  table: 'assets',
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
  counts: {
    table: 'asset_counts',
    by: ['advertiser_id', 'media_kind', 'source'],
    counted: (asset) => (asset.status === 'READY' ? [asset] : []),
  },
});

export const assetsProjection = {
  ...readModel,
  compared: {
    ...readModel.compared,
    // The sweep deletes other rows after a week (`command/assets/sweep-assets.ts`); one hour of margin.
    assets: {
      where: `not (status in ('EXPIRED', 'REMOVED') and expires_at < now() - interval '6 days 23 hours')`,
    },
  },
};
