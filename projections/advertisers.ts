import { advertiserFold } from '../domain/advertisers/advertiser.ts';
import { foldedReadModel } from './folded-read-model.ts';

export const advertisersProjection = foldedReadModel({
  ...advertiserFold,
  name: 'advertisers',
  table: 'advertisers',
  idType: 'int4',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, id }) => ({ customerId, id }),
  columns: [
    { name: 'status', type: 'text', value: ({ status }) => status },
    { name: 'sandbox', type: 'boolean', value: ({ sandbox }) => sandbox, isFixed: true },
    { name: 'name', type: 'text', value: ({ name }) => name },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
  counts: { table: 'advertiser_counts', by: ['status', 'sandbox'] },
});
