import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { ASSET } from '../../domain/assets/asset.ts';
import { CAMPAIGN } from '../../domain/campaigns/campaign.ts';
import { CREATIVE } from '../../domain/creatives/creative.ts';
import { SYNDICATION } from '../../domain/syndication/syndication.ts';
import { assetsProjection } from '../../projections/assets.ts';
import { campaignsProjection } from '../../projections/campaigns.ts';
import { creativesProjection } from '../../projections/creatives.ts';
import { openCheckpoint } from '../../projections/engine/checkpoint.ts';
import type { Projection } from '../../projections/engine/projection.ts';
import { syndicationProjection } from '../../projections/syndication.ts';
import { listAssets, type AssetFilters } from '../../query/assets/list.ts';
import { listCampaigns, type CampaignFilters } from '../../query/campaigns/list.ts';
import { listLibraryCreatives, type LibraryFilters } from '../../query/creatives/list.ts';
import { listRecords, type RecordFilters } from '../../query/syndication/list.ts';
import type { JsonObject, Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { createRandom } from '../faults/kit/random.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { rowsRead } from '../support/rows-read.ts';

const readModels = useReadModelDatabase();
const random = createRandom(11);
const START_MS = Date.parse('2026-01-01T00:00:00Z');
/** One has few archived campaigns, the other has only archived ones. */
const [CUSTOMER, OLD_CUSTOMER] = [7, 8];
const [ADVERTISER, OTHER_ADVERTISER] = [5, 6];
/** Rows read for a page of 50 at either end of a list. */
const TAKE_READ_MAX = 1_100;
const pick = (part: number): boolean => random.next() < part;

/** Events in the order of the log. The clocks of the nodes differ by some seconds. */
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
  // Uploads in another order than the reservations: the list is sorted by upload.
  for (const id of uploaded) {
    add(ASSET, CUSTOMER, id, 'AssetUploaded', { storageKey: `k-${id}`, bytes: 1, sha256: 'ab' });
  }
  for (const id of all.filter((one) => !uploaded.includes(one))) {
    add(ASSET, CUSTOMER, id, 'AssetReservationExpired', {});
  }
  for (const id of uploaded) if (pick(0.05)) add(ASSET, CUSTOMER, id, 'AssetRemoved', {});
  return events;
};

const AGENTS = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);

/** All are enabled, most are started, many are completed, some are disabled again, in random order. */
const syndicationHistory = (): readonly RecordedEvent[] => {
  const { events, add } = createHistory();
  const all = ids(3_000).map((recordId, n) => ({
    recordId,
    customerId: CUSTOMER,
    advertiserId: ADVERTISER,
    resourceType: n % 50 === 0 ? 'CATALOG' : 'EVENT_SOURCE',
    resourceId: `r-${n}`,
    agentId: AGENTS[n % 3] as string,
    account: { account_id: 'acct' },
  }));
  const append = (record: (typeof all)[number], type: string, data: JsonObject): void =>
    add(SYNDICATION, CUSTOMER, record.recordId, type, data);
  for (const record of all) append(record, 'SyndicationToggled', { ...record, enabled: true, generation: 1 });
  const started = all.filter(() => pick(0.9));
  for (const record of started) append(record, 'SyndicationStarted', { generation: 1, request: {} });
  const completed = started.filter(() => pick(0.9));
  for (const record of completed) append(record, 'SyndicationCompleted', { generation: 1, responseData: {} });
  for (const record of completed.filter(() => pick(0.1))) {
    append(record, 'SyndicationToggled', { ...record, enabled: false, generation: 2 });
  }
  return events;
};

interface Page {
  readonly ids: readonly string[];
  readonly total: number;
}
type Ask = (database: TenantDatabase, page: { skip: number; take: number }) => Promise<Page>;
interface LongList {
  readonly projection: Projection;
  readonly table: string;
  readonly at: 'created_at' | 'updated_at';
  readonly history: () => readonly RecordedEvent[];
  /** The SQL of a whole list, and the query for a page. */
  readonly lists: readonly (readonly [where: string, ask: Ask])[];
}

const progress = createProjectionProgress();

const campaigns =
  (customerId: number, filters: CampaignFilters): Ask =>
  async (database, page) => {
    const found = await listCampaigns({ database, progress }, customerId, filters, page);
    return { ids: found.items.map(({ id }) => campaignIdOf(id) ?? ''), total: found.total };
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

const records =
  (filters: RecordFilters): Ask =>
  async (database, page) => {
    const found = await listRecords({ database, progress }, CUSTOMER, ADVERTISER, filters, page);
    return { ids: (found?.records ?? []).map(({ recordId }) => recordId), total: found?.total ?? -1 };
  };

const ofAccount = `customer_id = ${CUSTOMER}`;
const ofAdvertiser = `${ofAccount} and advertiser_id = ${ADVERTISER}`;
const inLibrary = `${ofAdvertiser} and not archived`;
const ready = `${ofAdvertiser} and status = 'READY'`;

const listed: readonly LongList[] = [
  {
    projection: campaignsProjection,
    table: 'campaigns',
    at: 'created_at',
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
    at: 'created_at',
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
    at: 'created_at',
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
  {
    projection: syndicationProjection,
    table: 'syndication_records',
    at: 'updated_at',
    history: syndicationHistory,
    lists: [
      [ofAdvertiser, records({})],
      [`${ofAdvertiser} and status <> 'DISABLED'`, records({ enabled: true })],
      [`${ofAdvertiser} and status = 'COMPLETED'`, records({ status: 'COMPLETED' })],
      [`${ofAdvertiser} and resource_type = 'EVENT_SOURCE'`, records({ resourceType: 'EVENT_SOURCE' })],
      [`${ofAdvertiser} and resource_type = 'CATALOG'`, records({ resourceType: 'CATALOG' })],
      [
        `${ofAdvertiser} and agent_id = '${AGENTS[1]}' and status <> 'DISABLED'`,
        records({ agentId: AGENTS[1], enabled: true }),
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

describe.each(listed)('$table', ({ projection, table, at, history, lists }) => {
  let events: readonly RecordedEvent[];
  beforeAll(() => {
    events = history();
  });

  /** Batches overlap, and some are delivered twice. */
  const apply = async (batchSize: number, midway?: () => Promise<void>): Promise<void> => {
    const { pool } = readModels;
    await pool.query(`truncate ${projection.tables.join(', ')}`);
    await pool.query('delete from projection_checkpoints');
    await openCheckpoint(pool, projection.name);
    for (let from = 0; from < events.length; from += batchSize) {
      if (from <= events.length / 2 && from + batchSize > events.length / 2) await midway?.();
      const batch = events.slice(Math.max(0, from - 50), from + batchSize);
      for (const some of pick(0.3) ? [batch, batch] : [batch]) {
        await inTransaction(pool, (client) => projection.apply(client, some));
      }
    }
    await pool.query(`analyze ${projection.tables.join(', ')}`);
  };

  const checkPages = async (step: number): Promise<void> => {
    for (const [where, ask] of lists) {
      const { rows } = await readModels.pool.query<{ id: string }>(
        `select id from ${table} where ${where} order by ${at} desc, id desc`,
      );
      for (let skip = 0; skip < rows.length + 50; skip += step) {
        const wanted = rows.slice(skip, skip + 50).map(({ id }) => id);
        const page = await ask(readModels.tenant, { skip, take: 50 });
        expect({ where, skip, ...page }).toEqual({ where, skip, ids: wanted, total: rows.length });
      }
    }
  };

  /** Rows of the table that the query of a page read. */
  const readBy = (ask: Ask, skip: number): Promise<number> =>
    rowsRead(readModels, [table], (database) => ask(database, { skip, take: 50 }));

  it('shows correct pages while rows change, for batches of any size, some delivered twice', async () => {
    await apply(700, () => checkPages(307));
    await checkPages(211);
    await apply(1_900);
    await checkPages(617);
  }, 120_000);

  it.each(lists.map(([where, ask]) => ({ where, ask })))(
    '$where: pages are read by an index, from the nearer end of the list',
    async ({ ask }) => {
      const { total } = await ask(readModels.tenant, { skip: 0, take: 1 });
      expect(total).toBeGreaterThan(0);
      // The keys of the page, rows that no index excludes, and the rows of the page.
      expect(await readBy(ask, 0)).toBeLessThan(TAKE_READ_MAX);
      expect(await readBy(ask, total - 50)).toBeLessThan(TAKE_READ_MAX);
      expect(await readBy(ask, Math.floor(total / 2))).toBeLessThan(total / 2 + TAKE_READ_MAX);
    },
  );

  it.each(lists.map(([where, ask]) => ({ where, ask })))(
    '$where: requests for first pages are not planned again and again',
    async ({ ask }) => {
      const client = await readModels.pool.connect();
      try {
        const asked = new Set<string>();
        for (let skip = 0; skip < 20; skip += 1) {
          await ask(
            {
              ...readModels.tenant,
              query: async (customerId, query) => {
                // A name that no other test has used on this connection.
                const name = `${query.name}-here`;
                if (query.planOnce !== true) asked.add(name);
                await client.query({ name, text: query.text, values: [...query.values] });
                return readModels.tenant.query(customerId, query);
              },
            },
            { skip, take: 50 },
          );
        }
        const { rows } = await client.query<{ name: string; custom_plans: number }>(
          'select name, custom_plans::int from pg_prepared_statements where name = any($1)',
          [[...asked]],
        );
        expect(rows).toHaveLength(asked.size);
        // Postgres compares five plans for given values with a generic one.
        for (const { name, custom_plans: planned } of rows)
          expect({ name, planned }).toEqual({ name, planned: 5 });
      } finally {
        client.release(true);
      }
    },
  );
});
