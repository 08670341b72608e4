import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { catalogFeeds } from '../../command/workers/catalog-feeds/read-feed.ts';
import { catalogStream } from '../../domain/catalogs/catalog.ts';
import { catalogFeedsProjection } from '../../projections/catalog-feeds.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createLog } from '../../app/log.ts';
import { createPool, inTransaction } from '../../shared/postgres/pool.ts';
import {
  createWorkList,
  DONE,
  type OfferedEntry,
  type WorkResult,
} from '../../shared/work-list/work-list.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(
    { connectionString: database.url, applicationName: 'test', max: 8, system: true },
    createLog('silent'),
  );
});
beforeEach(() => pool.query('truncate work_list'));
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const advance = (minutes: number) =>
  pool.query(
    `update work_list set due_at = due_at - make_interval(mins => $1),
       leased_until = leased_until - make_interval(mins => $1), not_before = not_before - make_interval(mins => $1)`,
    [minutes],
  );
const work = catalogFeeds({} as never);
const claim = (): Promise<readonly OfferedEntry[]> =>
  createWorkList(pool).offer(work.name, { countMax: 4, perAccountMax: work.perAccountMax });
const settle = (entry: OfferedEntry | undefined, result: WorkResult): Promise<void> => {
  if (entry === undefined) throw new Error('no entry was claimed');
  return createWorkList(pool).settle(entry, result, work.gapMs);
};
const result: WorkResult = { is: 'next' };

const catalogId = randomUUID();
const event = (revision: number, type: string, kind?: string): RecordedEvent => ({
  stream: catalogStream(1, catalogId),
  revision,
  position: String(revision).padStart(20, '0') as RecordedEvent['position'],
  recordedAt: '2026-01-01T00:00:00.000Z',
  id: randomUUID(),
  type,
  data: kind === undefined ? {} : { definition: { content: { kind } } },
  metadata: {
    customerId: 1,
    actor: 'test',
    requestId: 'test',
    causationId: 'test',
    correlationId: 'test',
    occurredAt: '2026-01-01T00:00:00.000Z',
    schemaVersion: 1,
  },
});
const apply = (...events: readonly RecordedEvent[]) =>
  inTransaction(pool, (client) => catalogFeedsProjection.apply(client, events));

describe('a feed', () => {
  it('is listed when a catalog names it; the results of reads add no work', async () => {
    const named = event(0, 'CatalogPublished', 'feed');
    await apply(named, named);
    const [first] = await claim();
    expect(first).toMatchObject({ key: catalogId, revision: '0000000000000000' });
    await apply(named, event(1, 'CatalogFeedFailed'), event(2, 'CatalogFeedRead'));
    expect(await claim()).toEqual([]);
    await settle(first, result);
    await advance(1_000_000);
    expect(await claim()).toEqual([]);
  });

  it('given a request for another read during a read, then it is read again a minute later', async () => {
    await apply(event(0, 'CatalogPublished', 'feed'));
    const [first] = await claim();
    await apply(event(1, 'CatalogFeedRead'), event(2, 'CatalogFeedAsked'));
    await apply(event(3, 'CatalogFeedAsked'));
    expect(await claim()).toEqual([]);
    await settle(first, result);
    expect(await claim()).toEqual([]);
    await advance(2);
    const [second] = await claim();
    expect(second).toMatchObject({ revision: '0000000000000003', attempts: 0 });
    await settle(second, result);
    await apply(event(4, 'CatalogFeedAsked'));
    expect(await claim()).toEqual([]);
    await advance(2);
    expect(await claim()).toHaveLength(1);
  });

  it('removed and named again during a read, is read again a minute after that read', async () => {
    await apply(event(0, 'CatalogPublished', 'feed'));
    const [first] = await claim();
    await apply(event(1, 'CatalogArchived'));
    await apply(event(2, 'CatalogPublished', 'feed'));
    expect(await claim()).toEqual([]);
    await settle(first, DONE);
    await apply(event(3, 'CatalogArchived'));
    await apply(event(4, 'CatalogPublished', 'feed'));
    expect(await claim()).toEqual([]);
    await apply(event(5, 'CatalogArchived'));
    await advance(2);
    const [last] = await claim();
    expect(last).toMatchObject({ revision: '0000000000000005' });
    await settle(last, DONE);
    expect((await pool.query('select from work_list')).rowCount).toBe(0);
  });

  it.each([
    ['CatalogPublished', 'inline'],
    ['CatalogArchived', undefined],
  ])('is claimed after %s %s follows it, and redelivered events add no work', async (type, of) => {
    await apply(event(0, type, of));
    expect(await claim()).toEqual([]);
    await apply(event(1, 'CatalogPublished', 'feed'));
    await apply(event(2, type, of));
    await apply(event(1, 'CatalogPublished', 'feed'));
    expect(await claim()).toMatchObject([{ revision: '0000000000000002' }]);
  });
});
