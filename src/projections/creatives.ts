import type { ClientBase } from 'pg';
import { creativeEvents } from '../domain/creatives/creative-events.ts';
import { assetIdsOf, type Creative } from '../domain/creatives/creative-resource.ts';
import { CREATIVE, evolve, initialState, type CreativeStateOf } from '../domain/creatives/creative.ts';
import { boolArray, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { countInBlocks } from './engine/blocks/count-in-blocks.ts';
import type { ListBlocks } from './engine/blocks/list-blocks.ts';
import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, countedChanges, type FoldedTable, type RowChange } from './folded-rows.ts';
import { addCounts } from './kept-counts.ts';

const table: FoldedTable<CreativeStateOf, Creative> = {
  table: 'creatives',
  category: CREATIVE,
  events: creativeEvents,
  initialState,
  evolve,
  live: (state) => (state.state === 'none' ? undefined : state),
  place: ({ customerId, creativeId }) => ({ customerId, id: creativeId }),
  columns: [
    { name: 'advertiser_id', type: 'int4', value: ({ advertiserId }) => advertiserId, isFixed: true },
    { name: 'archived', type: 'boolean', value: ({ state }) => state === 'archived' },
    { name: 'role', type: 'text', value: ({ role }) => role ?? '' },
    { name: 'promoted', type: 'boolean', value: ({ promoted }) => promoted },
    { name: 'source', type: 'text', value: ({ source }) => source, isFixed: true },
    { name: 'format_kind', type: 'text', value: ({ formatKind }) => formatKind },
    { name: 'name', type: 'text', value: ({ name }) => name },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
};

const counts = { table: 'creative_counts', columns: ['role', 'promoted', 'source', 'format_kind'] };

/**
 * Of the libraries. Each filter alone is a kind of its own, and so is each group of `creative_counts`: what several
 * filters name together is the sum of its groups.
 */
const creativeBlocks: ListBlocks = {
  table: 'creative_blocks',
  rows: table.table,
  where: 'not r.archived',
  lists: 'advertiser',
  at: 'created_at',
  idType: 'uuid',
  kinds: `array[r.role || '///', '/' || r.promoted::text || '//', '//' || r.source || '/', '///' || r.format_kind,
    r.role || '/' || r.promoted::text || '/' || r.source || '/' || r.format_kind]`,
};

/**
 * The read model behind creatives. What else their detail shows is in read models of its own, and is joined when it is
 * read: then the order in which events of several streams arrive cannot matter (docs/campaigns.md).
 */
export const creativesProjection: Projection = {
  name: 'creatives',
  categories: [CREATIVE],
  tables: [table.table, 'creative_campaigns', 'creative_assets', counts.table, creativeBlocks.table],
  compared: { [counts.table]: keptCounts },
  blocks: [creativeBlocks],
  apply: async (client, events) => {
    const changes = await applyFolded(client, table, events);
    await linkCampaigns(
      client,
      changes.filter(isMoved).map(({ after }) => after),
    );
    await linkAssets(
      client,
      changes.filter(usesOtherAssets).map(({ after }) => after),
    );
    await addCounts(
      client,
      counts,
      countedChanges(changes, (creative) => inLibrary(creative).map(counted)),
    );
    await countInBlocks(
      client,
      creativeBlocks,
      countedChanges(changes, (creative) => inLibrary(creative).map(placed)),
    );
  },
};

const isMoved = ({ before, after }: RowChange<Creative>): boolean =>
  before?.state !== after.state || before.campaignIds.join() !== after.campaignIds.join();

/** Live creatives only: an archived one keeps nobody from deleting an asset. */
const usedAssets = (creative: Creative): readonly string[] =>
  creative.state === 'archived' ? [] : assetIdsOf(creative);

const usesOtherAssets = ({ before, after }: RowChange<Creative>): boolean =>
  (before === undefined ? '' : usedAssets(before).join()) !== usedAssets(after).join();

/** What is in the library: archived ones are not. */
const inLibrary = (creative: Creative): readonly Creative[] =>
  creative.state === 'archived' ? [] : [creative];

const counted = ({ customerId, advertiserId, role, promoted, source, formatKind }: Creative) => ({
  customerId,
  advertiserId,
  kind: [role ?? '', String(promoted), source, formatKind],
});

const placed = (creative: Creative) => {
  const { customerId, advertiserId, creativeId, createdAt, promoted, source, formatKind } = creative;
  const role = creative.role ?? '';
  return {
    customerId,
    advertiserId,
    at: createdAt,
    id: creativeId,
    kinds: [
      `${role}///`,
      `/${promoted}//`,
      `//${source}/`,
      `///${formatKind}`,
      `${role}/${promoted}/${source}/${formatKind}`,
    ],
  };
};

/** Rows of one creative are few: they are made anew. */
const forget = async (client: ClientBase, links: string, creatives: readonly Creative[]): Promise<void> => {
  await client.query({
    name: `${links}-forget`,
    text: `delete from ${links} l using unnest($1::bigint[], $2::uuid[]) as c(customer_id, id)
           where l.customer_id = c.customer_id and l.creative_id = c.id`,
    values: [
      int8Array(creatives.map(({ customerId }) => customerId)),
      uuidArray(creatives.map(({ creativeId }) => creativeId)),
    ],
  });
};

const linkCampaigns = async (client: ClientBase, creatives: readonly Creative[]): Promise<void> => {
  if (creatives.length === 0) return;
  await forget(client, 'creative_campaigns', creatives);
  const links = creatives.flatMap((creative) =>
    creative.campaignIds.map((campaignId) => ({ ...creative, campaignId })),
  );
  if (links.length === 0) return;
  await client.query({
    name: 'creative-campaigns-insert',
    text: `insert into creative_campaigns (customer_id, creative_id, campaign_id, archived, created_at)
           select customer_id, creative_id, campaign_id, archived, created_at::timestamptz
           from unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::boolean[], $5::text[])
             as n(customer_id, creative_id, campaign_id, archived, created_at)`,
    values: [
      int8Array(links.map(({ customerId }) => customerId)),
      uuidArray(links.map(({ creativeId }) => creativeId)),
      uuidArray(links.map(({ campaignId }) => campaignId)),
      boolArray(links.map(({ state }) => state === 'archived')),
      textArray(links.map(({ createdAt }) => createdAt)),
    ],
  });
};

const linkAssets = async (client: ClientBase, creatives: readonly Creative[]): Promise<void> => {
  if (creatives.length === 0) return;
  await forget(client, 'creative_assets', creatives);
  const links = creatives.flatMap((creative) =>
    usedAssets(creative).map((assetId) => ({ ...creative, assetId })),
  );
  if (links.length === 0) return;
  await client.query({
    name: 'creative-assets-insert',
    text: `insert into creative_assets (customer_id, creative_id, asset_id)
           select * from unnest($1::bigint[], $2::uuid[], $3::text[])`,
    values: [
      int8Array(links.map(({ customerId }) => customerId)),
      uuidArray(links.map(({ creativeId }) => creativeId)),
      textArray(links.map(({ assetId }) => assetId)),
    ],
  });
};
