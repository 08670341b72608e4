import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { KEPT_DAYS } from '../../domain/notifications/kept-days.ts';
import { ACCESS_CHANGED, publicKinds } from '../../domain/notifications/kinds.ts';
import { retryParked } from '../../projections/engine/retry-parked.ts';
import { notificationsProjection } from '../../projections/notifications.ts';
import { FEED, FEED_START, feedQuery, readFeed, readWholeFeed } from '../../query/notifications/feed.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { nodesOf, type PlanNode } from '../support/plan-nodes.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { accountIn, createWebhookLog, projectLog } from '../support/webhook-log.ts';

const readModels = useReadModelDatabase();

const MANY = 20_000;
const RARE = 'creative.archived';
const at = (n: number): string => String(n).padStart(16, '0');

describe('a page of the feed', () => {
  beforeAll(async () => {
    await readModels.pool.query(
      `insert into notifications (customer_id, position, idx, id, kind, resource_type, resource_id, advertiser_id,
         occurred_at, revision, changed)
       select 1 + n % 2, lpad(n::text, 16, '0'), 0, gen_random_uuid(),
         case when n % 1000 < 2 then $2 else 'campaign.updated' end, 'X', 'x', 1 + n % 5, now(), 1, '{}'
       from generate_series(1, $1::int) n`,
      [MANY, RARE],
    );
    await readModels.pool.query('analyze notifications');
  });

  it.each([
    ['of all kinds', FEED_START, {}, 51],
    ['from the middle', { ...FEED_START, position: at(MANY / 2) }, {}, 51],
    ['of a frequent kind of one advertiser', FEED_START, { kinds: ['campaign.*'], advertiserId: 2 }, 51],
    ['of a rare kind', FEED_START, { kinds: [RARE] }, 20],
    ['of a kind that the advertiser never has', FEED_START, { kinds: ['task.failed'], advertiserId: 3 }, 0],
    ['at the end', { ...FEED_START, position: at(MANY) }, {}, 0],
  ])('%s reads its own rows only', async (_name, after, filters, count) => {
    const { text, values } = feedQuery(1, after, filters, 50);
    const { rows } = await readModels.pool.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
      `explain (analyze, timing off, format json) ${text}`,
      [...values],
    );
    const read = nodesOf(rows[0]?.['QUERY PLAN'][0]?.Plan).filter(
      (node) => node['Relation Name'] === 'notifications',
    );
    expect(read.length).toBeGreaterThan(0);
    const touched = read.map(
      (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    );
    const sum = touched.reduce((total, one) => total + one, 0);
    expect(sum).toBeGreaterThanOrEqual(count);
    // The mean of loops is rounded.
    expect(sum).toBeLessThanOrEqual(2 * 51 + publicKinds.length);
    const page = await readModels.pool.query<{ items: string }>(text, [...values]);
    expect(JSON.parse(page.rows[0]?.items ?? '')).toHaveLength(count);
  });
});

const created = (customerId: number, n: number, occurredAt: string): RecordedEvent => ({
  id: randomUUID(),
  stream: `campaign-${customerId}-${randomUUID()}`,
  revision: 0,
  position: at(n) as RecordedEvent['position'],
  recordedAt: occurredAt,
  type: 'CampaignCreated',
  data: { campaignId: randomUUID(), customerId, advertiserId: 5, name: 'One', currency: 'USD' },
  metadata: {
    customerId,
    actor: 'operator',
    requestId: 'r',
    correlationId: 'r',
    causationId: randomUUID(),
    occurredAt,
    schemaVersion: 1,
  },
});

describe('the read model', () => {
  it('is the one that reads wait for', () => {
    expect(notificationsProjection.name).toBe(FEED);
  });

  const CUSTOMER = 77;
  const daysAgo = (days: number): string => new Date(Date.now() - days * 24 * 60 * 60 * 1_000).toISOString();
  const apply = (events: readonly RecordedEvent[], purpose?: 'rows') =>
    inTransaction(readModels.pool, (client) => notificationsProjection.apply(client, events, purpose));
  const rows = async () =>
    (
      await readModels.pool.query<{ position: string; advertiser_id: number; kind: string }>(
        'select position, advertiser_id, kind from notifications where customer_id = $1 order by position',
        [CUSTOMER],
      )
    ).rows;

  it('has a row once, however often an event is applied, and later events have the advertiser of their stream', async () => {
    const first = created(CUSTOMER, 1, daysAgo(0));
    const later: RecordedEvent = {
      ...first,
      id: randomUUID(),
      revision: 1,
      position: at(2) as never,
      type: 'CampaignPaused',
      data: {},
    };
    await apply([first]);
    await apply([first, later]);
    await apply([later]);
    expect(await rows()).toEqual([
      { position: at(1), advertiser_id: 5, kind: 'campaign.created' },
      { position: at(2), advertiser_id: 5, kind: 'campaign.phase_changed' },
    ]);
  });

  it('makes reads of the account wait for what it shows, where writers record their position later', async () => {
    const positions = async () =>
      (await readModels.pool.query('select customer_id, position from account_positions order by 1')).rows;
    await readModels.pool.query('delete from account_positions');
    await apply([created(CUSTOMER + 2, 21, daysAgo(0)), created(CUSTOMER + 1, 22, daysAgo(0))]);
    await apply([created(CUSTOMER + 1, 23, daysAgo(0))]);
    // Read again, and for a copy.
    await apply([created(CUSTOMER + 1, 20, daysAgo(0))]);
    await apply([created(CUSTOMER + 1, 24, daysAgo(0))], 'rows');
    expect(await positions()).toEqual([
      { customer_id: String(CUSTOMER + 1), position: at(23) },
      { customer_id: String(CUSTOMER + 2), position: at(21) },
    ]);
  });

  it('shows internal kinds to streams, which read all, and not to clients', async () => {
    const metadata = { ...created(CUSTOMER, 8, daysAgo(0)).metadata };
    const stream = `account-${CUSTOMER}`;
    const revoked = {
      type: 'ApiKeyRevoked',
      data: { keyId: 'abc' },
      id: randomUUID(),
      stream,
      metadata,
    } as const;
    await apply([{ ...revoked, revision: 3, position: at(8) as never, recordedAt: metadata.occurredAt }]);
    // No checkpoint is written here, so a read would wait for the position.
    await readModels.pool.query('delete from account_positions');
    const reads = { database: readModels.tenant, progress: createProjectionProgress() };
    const after = { ...FEED_START, position: at(2) };
    const all = await readWholeFeed(reads, CUSTOMER, after, 5);
    expect(all.entries).toMatchObject([{ kind: ACCESS_CHANGED, resourceType: 'API_KEY', resourceId: 'abc' }]);
    expect((await readFeed(reads, CUSTOMER, after, {}, 5)).entries).toEqual([]);
    // The read model has no checkpoint here, so it is behind the reader.
    expect(all.next).toEqual(after);
  });

  it('has the notifications of a stream that was parked behind what readers have passed, once each', async () => {
    const customerId = 90;
    const log = createWebhookLog();
    const account = accountIn(log, customerId);
    const broken = account.createCampaign(randomUUID(), 5);
    const campaignId = broken.data['campaignId'] as string;
    account.archiveAdvertiser(1);
    account.pauseCampaign(campaignId);
    await readModels.pool.query(
      `insert into parked_streams (projection, stream, customer_id, position, revision, event_type, error, attempts)
       values ($1, $2, $3, $4, 0, 'CampaignCreated', 'broken', 3)`,
      [FEED, broken.stream, customerId, broken.position],
    );
    await readModels.pool.query('delete from projection_checkpoints where name = $1', [FEED]);
    await projectLog(readModels.pool, log, [2], notificationsProjection);
    const reads = { database: readModels.tenant, progress: createProjectionProgress() };
    const seen: string[] = [];
    let after = FEED_START;
    const readOn = async (limit: number): Promise<void> => {
      for (let hasMore = true; hasMore;) {
        const page = await readFeed(reads, customerId, after, {}, limit);
        seen.push(...page.entries.map(({ kind }) => kind));
        ({ hasMore, next: after } = page);
      }
    };
    await readOn(5);
    expect(seen).toEqual(['advertiser.archived']);

    const store = {
      readStream: async function* (stream: string, { from = 0 } = {}) {
        yield* log.events.filter((event) => event.stream === stream && event.revision >= from);
      },
    };
    const retried = await retryParked(readModels.pool, store, notificationsProjection, broken.stream);
    expect(retried).toEqual({ outcome: 'applied', events: 2 });
    await readOn(1);
    await readOn(5);
    expect(seen.slice(1)).toEqual(['campaign.created', 'campaign.phase_changed']);

    account.restoreAdvertiser(1);
    await projectLog(readModels.pool, log, [2], notificationsProjection);
    await readOn(5);
    expect(seen.slice(3)).toEqual(['advertiser.restored']);
    // From the beginning, too.
    after = FEED_START;
    await readOn(2);
    expect(seen.slice(4).toSorted()).toEqual(seen.slice(0, 4).toSorted());
  });

  it('a copy has no rows that are due for deletion, but their streams', async () => {
    await readModels.pool.query('delete from notifications where customer_id = $1', [CUSTOMER]);
    const [old, young] = [
      created(CUSTOMER, 3, daysAgo(KEPT_DAYS + 2)),
      created(CUSTOMER, 4, daysAgo(KEPT_DAYS - 1)),
    ];
    await apply([old, young], 'rows');
    expect((await rows()).map(({ position }) => position)).toEqual([at(4)]);
    const { rows: streams } = await readModels.pool.query(
      'select stream from notification_streams where stream = any($1)',
      [[old.stream, young.stream]],
    );
    expect(streams).toHaveLength(2);
  });

  it("refuses an event of another account's stream, and a type of a newer program", async () => {
    const one = created(CUSTOMER, 5, daysAgo(0));
    const foreign = { ...one, metadata: { ...one.metadata, customerId: CUSTOMER + 1 } };
    await expect(apply([foreign])).rejects.toMatchObject({ name: 'UnprojectableEventError' });
    await expect(apply([{ ...one, type: 'CampaignSold' }])).rejects.toMatchObject({
      name: 'UnprojectableEventError',
    });
  });
});
