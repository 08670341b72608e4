import { advertiserEvents } from '../domain/advertisers/advertiser-events.ts';
import type { AdvertiserResource } from '../domain/advertisers/advertiser-resource.ts';
import { ADVERTISER, evolve, initialState, type Advertiser } from '../domain/advertisers/advertiser.ts';
import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';
import { addCounts, countedBy, type CountTable } from './kept-counts.ts';

const table: FoldedTable<Advertiser, AdvertiserResource> = {
  table: 'advertisers',
  idType: 'int4',
  category: ADVERTISER,
  events: advertiserEvents,
  initialState,
  evolve,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, id }) => ({ customerId, id }),
  columns: [
    { name: 'status', type: 'text', value: ({ status }) => status },
    { name: 'sandbox', type: 'boolean', value: ({ sandbox }) => sandbox, isFixed: true },
    { name: 'name', type: 'text', value: ({ name }) => name },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
};

const counts: CountTable<AdvertiserResource> = {
  table: 'advertiser_counts',
  columns: countedBy(table, 'status', 'sandbox'),
};

/** The read model behind endpoint 4 and the advertiser's detail: tables `advertisers`, `advertiser_counts`. */
export const advertisersProjection: Projection = {
  name: 'advertisers',
  categories: [ADVERTISER],
  tables: [table.table, counts.table],
  compared: { [counts.table]: keptCounts },
  apply: async (client, events) => {
    await addCounts(client, counts, await applyFolded(client, table, events));
  },
};
