import type { ClientBase } from 'pg';
import { assetIdsOf, type Creative } from '../domain/creatives/resource.ts';
import { CREATIVE, creativeFold, type CreativeStateOf } from '../domain/creatives/creative.ts';
import { boolArray, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { nonZeroCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable, type RowChange } from './folded-rows.ts';
import { addCounts, countedBy, type CountTable } from './count-rows.ts';

const table: FoldedTable<CreativeStateOf, Creative> = {
  ...creativeFold,
  table: 'creatives',
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

const counts: CountTable<Creative> = {
  table: 'creative_counts',
  columns: countedBy(table, 'advertiser_id', 'role', 'promoted', 'source', 'format_kind'),
  counted: (creative) => (creative.state === 'archived' ? [] : [creative]),
};

/** Other streams' data is joined when read: the order of streams cannot matter (docs/design/campaigns.md). */
export const creativesProjection: Projection = {
  name: 'creatives',
  categories: [CREATIVE],
  tables: [table.table, 'creative_campaigns', 'creative_assets', counts.table],
  compared: { [counts.table]: nonZeroCounts },
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
    await addCounts(client, counts, changes);
  },
};

const isMoved = ({ before, after }: RowChange<Creative>): boolean =>
  before?.state !== after.state || before.campaignIds.join() !== after.campaignIds.join();

/** An archived creative does not prevent the deletion of an asset. */
const usedAssets = (creative: Creative): readonly string[] =>
  creative.state === 'archived' ? [] : assetIdsOf(creative);

const usesOtherAssets = ({ before, after }: RowChange<Creative>): boolean =>
  (before === undefined ? '' : usedAssets(before).join()) !== usedAssets(after).join();

/** Few rows: deleted and inserted again. */
const deleteLinks = async (
  client: ClientBase,
  links: string,
  creatives: readonly Creative[],
): Promise<void> => {
  await client.query({
    name: `${links}-delete`,
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
  await deleteLinks(client, 'creative_campaigns', creatives);
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
  await deleteLinks(client, 'creative_assets', creatives);
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
