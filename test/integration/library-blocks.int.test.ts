import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ASSET } from '../../src/domain/assets/asset.ts';
import { CAMPAIGN } from '../../src/domain/campaigns/campaign.ts';
import { CREATIVE } from '../../src/domain/creatives/creative.ts';
import { assetsProjection } from '../../src/projections/assets.ts';
import { campaignsProjection } from '../../src/projections/campaigns.ts';
import { creativesProjection } from '../../src/projections/creatives.ts';
import { openCheckpoint } from '../../src/projections/engine/checkpoint.ts';
import { judgeBlocksSql } from '../../src/projections/engine/blocks/compare-blocks.ts';
import { fillBlocks } from '../../src/projections/engine/blocks/fill-blocks.ts';
import type { ListBlocks } from '../../src/projections/engine/blocks/list-blocks.ts';
import { makeBlocks } from '../../src/projections/engine/blocks/make-blocks.ts';
import type { Projection } from '../../src/projections/engine/projection.ts';
import { listAssets, type AssetFilters } from '../../src/query/assets/list-assets.ts';
import { listCampaigns, type CampaignFilters } from '../../src/query/campaigns/list-campaigns.ts';
import { listLibraryCreatives, type LibraryFilters } from '../../src/query/creatives/list-creatives.ts';
import type { JsonObject, Position, RecordedEvent } from '../../src/shared/event-store/event-store.ts';
import { inTransaction } from '../../src/shared/postgres/pool.ts';
import type { TenantDatabase } from '../../src/shared/postgres/tenant-database.ts';
import { blocksAtSql, RUN, WITHOUT_RUNS } from '../../src/shared/read-your-writes/kept-blocks.ts';
import { createProjectionProgress } from '../../src/shared/read-your-writes/projection-progress.ts';
import { createRandom } from '../faults/kit/random.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { nodesOf, type PlanNode } from '../support/plan-nodes.ts';

/**
 * Lists of campaigns, creatives and assets, long enough that their middle is found by blocks: as projections keep them of
 * events, as requests read them, and when they are made anew.
 */

const readModels = useReadModelDatabase();
const random = createRandom(11);
const START_MS = Date.parse('2026-01-01T00:00:00Z');
/** One with hardly any archived campaigns, and one that has no others. */
const [CUSTOMER, OLD_CUSTOMER] = [7, 8];
const [ADVERTISER, OTHER_ADVERTISER] = [5, 6];
const SMALL_MAX = 256;
const pick = (part: number): boolean => random.next() < part;

/** Events in the order of the log; the clocks of the nodes that they come from differ by some seconds. */
const createHistory = () => {
  const events: RecordedEvent[] = [];
  const revisions = new Map<string, number>();
  const add = (category: string, customerId: number, id: string, type: string, data: JsonObject): void => {
    const stream = `${category}-${customerId}-${id}`;
    const revision = (revisions.get(stream) ?? -1) + 1;
    revisions.set(stream, revision);
    const n = events.length;
    const at = new Date(START_MS + n * 5 + Math.floor(random.next() * 3_000)).toISOString();
    const who = { customerId, actor: 'test', requestId: 'r', correlationId: 'r', causationId: 'r' };
    events.push({
      id: randomUUID(),
      stream,
      type,
      data,
      metadata: { ...who, occurredAt: at, schemaVersion: 1 },
      revision,
      position: String(n).padStart(16, '0') as Position,
      recordedAt: at,
    });
  };
  return { events, add };
};

const ids = (count: number): readonly string[] => Array.from({ length: count }, () => randomUUID());

const campaignHistory = (): readonly RecordedEvent[] => {
  const { events, add } = createHistory();
  const all = [
    ...ids(2_400).map((id) => ({ id, customerId: CUSTOMER, part: 0.02 })),
    ...ids(2_100).map((id) => ({ id, customerId: OLD_CUSTOMER, part: 1 })),
  ];
  for (const { id, customerId } of all) {
    const advertiserId = pick(0.98) ? ADVERTISER : OTHER_ADVERTISER;
    const data = { campaignId: id, customerId, advertiserId, name: id, currency: 'USD' };
    add(CAMPAIGN, customerId, id, 'CampaignCreated', data);
  }
  const launched = all.filter(({ part }) => part < 1 && pick(0.97));
  for (const { id, customerId } of launched) add(CAMPAIGN, customerId, id, 'CampaignLaunched', {});
  for (const { id, customerId } of launched.filter(() => pick(0.03))) {
    add(CAMPAIGN, customerId, id, 'CampaignPaused', {});
  }
  for (const { id, customerId, part } of all) {
    if (pick(part)) add(CAMPAIGN, customerId, id, 'CampaignArchived', {});
  }
  return events;
};

const content = { slots: [], copy: {}, trackers: {}, carouselCards: [] };

const creativeHistory = (): readonly RecordedEvent[] => {
  const { events, add } = createHistory();
  const all = ids(2_700);
  for (const creativeId of all) {
    add(CREATIVE, CUSTOMER, creativeId, 'CreativeCreated', {
      creativeId,
      customerId: CUSTOMER,
      advertiserId: pick(0.98) ? ADVERTISER : OTHER_ADVERTISER,
      name: creativeId,
      state: 'ready',
      ...(pick(0.5) && { role: 'evergreen' }),
      promoted: false,
      source: pick(0.95) ? 'uploaded' : 'generated',
      content: { formatKind: pick(0.5) ? 'image' : 'html5', ...content },
      frequencyCaps: [],
    });
  }
  for (const id of all) {
    if (pick(0.93)) add(CREATIVE, CUSTOMER, id, 'CreativePromoted', { role: 'evergreen' });
    if (pick(0.9)) add(CREATIVE, CUSTOMER, id, 'CreativeUpdated', { changes: { formatKind: 'image' } });
    if (pick(0.05)) add(CREATIVE, CUSTOMER, id, 'CreativeArchived', {});
  }
  return events;
};

const assetHistory = (): readonly RecordedEvent[] => {
  const { events, add } = createHistory();
  const all = ids(2_700);
  for (const assetId of all) {
    add(ASSET, CUSTOMER, assetId, 'AssetReserved', {
      assetId,
      customerId: CUSTOMER,
      advertiserId: pick(0.98) ? ADVERTISER : OTHER_ADVERTISER,
      name: assetId,
      mimeType: 'image/png',
      mediaKind: pick(0.95) ? 'image' : 'video',
      source: pick(0.95) ? 'uploaded' : 'generated',
      bytesMax: 100,
      expiresAt: '2026-01-02T00:00:00.000Z',
    });
  }
  const uploaded = all.filter(() => pick(0.97)).toSorted();
  // In another order than they were reserved in: an asset's place in the list is that of its upload.
  for (const id of uploaded) {
    add(ASSET, CUSTOMER, id, 'AssetUploaded', { storageKey: `k-${id}`, bytes: 1, sha256: 'ab' });
  }
  for (const id of all.filter((one) => !uploaded.includes(one))) {
    add(ASSET, CUSTOMER, id, 'AssetReservationExpired', {});
  }
  for (const id of uploaded) if (pick(0.05)) add(ASSET, CUSTOMER, id, 'AssetRemoved', {});
  return events;
};

interface Page {
  readonly ids: readonly string[];
  readonly total: number;
}
type Ask = (database: TenantDatabase, page: { skip: number; take: number }) => Promise<Page>;
interface Listed {
  readonly projection: Projection;
  readonly table: string;
  readonly history: () => readonly RecordedEvent[];
  /** What a list shows, as SQL, and the question for a page of it. */
  readonly lists: readonly (readonly [where: string, ask: Ask])[];
}

const progress = createProjectionProgress();

const campaigns =
  (customerId: number, filters: CampaignFilters): Ask =>
  async (database, page) => {
    const found = await listCampaigns({ database, progress }, customerId, filters, page);
    return { ids: found.campaigns.map(({ campaignId }) => campaignId), total: found.total };
  };
const creatives =
  (filters: LibraryFilters): Ask =>
  async (database, page) => {
    const found = await listLibraryCreatives({ database, progress }, CUSTOMER, ADVERTISER, filters, page);
    return { ids: (found.creatives ?? []).map(({ creativeId }) => creativeId), total: found.total };
  };
const assets =
  (filters: AssetFilters): Ask =>
  async (database, page) => {
    const found = await listAssets({ database, progress }, CUSTOMER, ADVERTISER, filters, page);
    return { ids: (found?.assets ?? []).map(({ assetId }) => assetId), total: found?.total ?? -1 };
  };

const ofAccount = `customer_id = ${CUSTOMER}`;
const ofAdvertiser = `${ofAccount} and advertiser_id = ${ADVERTISER}`;
const inLibrary = `${ofAdvertiser} and not archived`;
const ready = `${ofAdvertiser} and status = 'READY'`;

const listed: readonly Listed[] = [
  {
    projection: campaignsProjection,
    table: 'campaigns',
    history: campaignHistory,
    lists: [
      [`${ofAccount} and not archived`, campaigns(CUSTOMER, {})],
      [`${ofAccount} and phase = 'active'`, campaigns(CUSTOMER, { phase: 'active' })],
      [`${ofAdvertiser} and not archived`, campaigns(CUSTOMER, { advertiserId: ADVERTISER })],
      [
        `${ofAdvertiser} and phase = 'active'`,
        campaigns(CUSTOMER, { advertiserId: ADVERTISER, phase: 'active' }),
      ],
      [`customer_id = ${OLD_CUSTOMER} and archived`, campaigns(OLD_CUSTOMER, { phase: 'archived' })],
    ],
  },
  {
    projection: creativesProjection,
    table: 'creatives',
    history: creativeHistory,
    lists: [
      [inLibrary, creatives({})],
      [`${inLibrary} and role = 'evergreen'`, creatives({ role: 'evergreen' })],
      [`${inLibrary} and promoted`, creatives({ promoted: true })],
      [`${inLibrary} and source = 'uploaded'`, creatives({ source: 'uploaded' })],
      [`${inLibrary} and format_kind = 'image'`, creatives({ formatKind: 'image' })],
      [
        `${inLibrary} and promoted and source = 'uploaded'`,
        creatives({ promoted: true, source: 'uploaded' }),
      ],
    ],
  },
  {
    projection: assetsProjection,
    table: 'assets',
    history: assetHistory,
    lists: [
      [ready, assets({})],
      [`${ready} and media_kind = 'image'`, assets({ mediaKind: 'image' })],
      [`${ready} and source = 'uploaded'`, assets({ source: 'uploaded' })],
      [
        `${ready} and media_kind = 'image' and source = 'uploaded'`,
        assets({ mediaKind: 'image', source: 'uploaded' }),
      ],
    ],
  },
];

beforeAll(async () => {
  await readModels.pool.query(
    `insert into advertisers (customer_id, id, revision, status, sandbox, name, created_at, body)
     values ($1, $2, 0, 'ACTIVE', false, 'Acme', now(), '{}')`,
    [CUSTOMER, ADVERTISER],
  );
});

describe.each(listed)('$table', ({ projection, table, history, lists }) => {
  let events: readonly RecordedEvent[];
  beforeAll(() => {
    events = history();
  });

  /** Every batch begins before the last one ended, and some come twice. */
  const apply = async (batchSize: number): Promise<void> => {
    const { pool } = readModels;
    await pool.query(`truncate ${projection.tables.join(', ')}`);
    await pool.query('delete from projection_checkpoints');
    await openCheckpoint(pool, projection.name);
    for (let from = 0; from < events.length; from += batchSize) {
      const batch = events.slice(Math.max(0, from - 50), from + batchSize);
      for (const some of pick(0.3) ? [batch, batch] : [batch]) {
        await inTransaction(pool, (client) => projection.apply(client, some));
      }
    }
    await pool.query(`analyze ${projection.tables.join(', ')}`);
  };

  /** What each kind of each list adds up to. */
  const judged = async (): Promise<Record<string, string>> => {
    const sums: Record<string, string> = {};
    for (const blocks of projection.blocks ?? []) {
      const { rows } = await readModels.pool.query<Record<'key' | 'count' | 'astray', string>>(
        `select customer_id || ' ' || advertiser_id || ' ' || kind as key, count, astray
         from (${judgeBlocksSql(blocks, blocks.table, blocks.rows)}) b`,
      );
      expect(rows.filter(({ astray }) => astray !== '0')).toEqual([]);
      for (const { key, count } of rows) sums[`${blocks.table} ${key}`] = count;
    }
    return sums;
  };

  /** Small ones, so that there are many, as in a list that is much longer. */
  const small = (blocks: ListBlocks): ListBlocks => ({
    ...blocks,
    // Statements are named after the table, and a connection prepares one of each name.
    table: `public.${blocks.table}`,
    rowsMax: SMALL_MAX,
    runBlocks: 4,
  });
  const refill = async (): Promise<void> => {
    await inTransaction(readModels.pool, async (client) => {
      for (const blocks of projection.blocks ?? []) await fillBlocks(client, small(blocks));
    });
  };

  const blockRows = async (kind: '' | typeof RUN = ''): Promise<number> => {
    const tables = (projection.blocks ?? []).map(
      (blocks) => `select from ${blocks.table} where kind = '${kind}'`,
    );
    return (await readModels.pool.query(tables.join(' union all '))).rows.length;
  };

  const checkPages = async (step: number): Promise<void> => {
    for (const [where, ask] of lists) {
      const { rows } = await readModels.pool.query<{ id: string }>(
        `select id from ${table} where ${where} order by created_at desc, id desc`,
      );
      // Else no page is so far from both ends that it is found by blocks.
      expect(rows.length).toBeGreaterThan(2_050);
      for (let skip = 0; skip < rows.length + 50; skip += step) {
        const wanted = rows.slice(skip, skip + 50).map(({ id }) => id);
        const page = await ask(readModels.tenant, { skip, take: 50 });
        expect({ where, skip, ...page }).toEqual({ where, skip, ids: wanted, total: rows.length });
      }
    }
  };

  /** Rows of the table that the statement of a page has read. */
  const readBy = async (ask: Ask, skip: number): Promise<number> => {
    let read = 0;
    const explained: TenantDatabase = {
      ...readModels.tenant,
      query: async (customerId, query) => {
        const { rows } = await readModels.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
          `explain (analyze, timing off, format json) ${query.text}`,
          [...query.values],
        );
        const nodes = nodesOf(rows[0]?.['QUERY PLAN'][0].Plan);
        for (const node of nodes.filter((one) => one['Relation Name'] === table)) {
          expect(node['Node Type']).not.toBe('Seq Scan');
          read += (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
        }
        return readModels.tenant.query(customerId, query);
      },
    };
    await ask(explained, { skip, take: 50 });
    return read;
  };

  it('shows every page, of events in batches of any size, some of them twice, and made anew', async () => {
    await apply(700);
    const first = await judged();
    await checkPages(617);
    await refill();
    expect(await judged()).toEqual(first);
    expect(await blockRows()).toBeGreaterThan(15);
    expect(await blockRows(RUN)).toBeGreaterThan(3);
    await checkPages(211);
    await apply(1_900);
    expect(await judged()).toEqual(first);
    await makeBlocks(readModels.pool, projection, await openCheckpoint(readModels.pool, projection.name));
    expect(await judged()).toEqual(first);
    await checkPages(617);
  }, 120_000);

  it('blocks of a program that knew of no runs are kept: their runs alone are made', async () => {
    const { pool } = readModels;
    const first = await judged();
    await refill();
    const blocks = await blockRows();
    for (const { table: of } of projection.blocks ?? []) {
      await pool.query(`delete from ${of} where starts_with(kind, $1)`, [RUN]);
    }
    await pool.query(`update projection_checkpoints set blocks_at = ${blocksAtSql({ kept: WITHOUT_RUNS })}`);
    const old = await openCheckpoint(pool, projection.name);
    expect(old.hasBlocks).toBe(false);
    const ofSmall = { ...projection, blocks: (projection.blocks ?? []).map(small) };
    expect((await makeBlocks(pool, ofSmall, old)).hasBlocks).toBe(true);
    expect(await blockRows(RUN)).toBeGreaterThan(3);
    expect((await openCheckpoint(pool, projection.name)).hasBlocks).toBe(true);
    expect(await blockRows()).toBe(blocks);
    expect(await judged()).toEqual(first);
    await checkPages(1_009);
    // Made as they were before the checkpoint went on without them, they would be wrong.
    await pool.query(
      `update projection_checkpoints set blocks_at = '0 ' || epoch || ' ${WITHOUT_RUNS}' where name = $1`,
      [projection.name],
    );
    await makeBlocks(pool, projection, await openCheckpoint(pool, projection.name));
    expect(await blockRows()).toBeLessThan(blocks);
  }, 60_000);

  it.each(lists.map(([where, ask]) => ({ where, ask })))(
    '$where: a page in the middle reads a block of rows, by an index',
    async ({ ask }) => {
      const { pool } = readModels;
      const { total } = await ask(readModels.tenant, { skip: 0, take: 1 });
      const middle = Math.floor(total / 2);
      await refill();
      // Those of a block, and the page's with their bodies.
      expect(await readBy(ask, middle)).toBeLessThan(SMALL_MAX / 2 + 200);
      // As a program that does not know of these blocks leaves it, and as it makes its own when it starts.
      for (const blocksAt of [`''`, `position || ' ' || epoch`]) {
        await pool.query(`update projection_checkpoints set blocks_at = ${blocksAt}`);
        expect((await openCheckpoint(pool, projection.name)).hasBlocks).toBe(false);
        expect(await readBy(ask, middle)).toBeGreaterThan(middle - 50);
      }
      await makeBlocks(pool, projection, await openCheckpoint(pool, projection.name));
      expect(await readBy(ask, middle)).toBeGreaterThan(0);
    },
  );
});
