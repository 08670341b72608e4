import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createFeedList, type DueFeed } from '../../command/workers/catalog-feeds/feed-list.ts';
import { catalogStream } from '../../domain/catalogs/catalog.ts';
import { catalogFeedsProjection } from '../../projections/catalog-feeds.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createLog } from '../../app/log.ts';
import { createPool, inTransaction } from '../../shared/postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** Which feeds are read, how many at once, and what becomes of those of which nobody says anything. */

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(
    { connectionString: database.url, applicationName: 'test', max: 8, system: true },
    createLog('silent'),
  );
});
beforeEach(() => pool.query('truncate catalog_feeds'));
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const wait = (customerId: number, count: number) =>
  pool.query(
    `insert into catalog_feeds (customer_id, id, revision, due_at)
     select $1, id, 0, now() - interval '1 minute' from unnest($2::uuid[]) as id`,
    [customerId, Array.from({ length: count }, () => randomUUID())],
  );
const later = (minutes: number) =>
  pool.query(
    `update catalog_feeds set due_at = due_at - make_interval(mins => $1),
       running_until = running_until - make_interval(mins => $1), read_at = read_at - make_interval(mins => $1)`,
    [minutes],
  );
const byAccount = (feeds: readonly DueFeed[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { customerId } of feeds) counts[customerId] = (counts[customerId] ?? 0) + 1;
  return counts;
};
const list = (): ReturnType<typeof createFeedList> => createFeedList(pool);

describe('the list of feeds', () => {
  it('gives an account two at once, whatever waits, also when many ask at the same time', async () => {
    await wait(1, 1_500);
    await wait(2, 1);
    await wait(3, 5);
    const claimed = await Promise.all(Array.from({ length: 6 }, () => list().claim(4)));
    expect(byAccount(claimed.flat())).toEqual({ 1: 2, 2: 1, 3: 2 });
    const [first] = claimed.flat().filter(({ customerId }) => customerId === 3);
    if (first === undefined) throw new Error('nothing was claimed');
    await list().rest(first, 'asked');
    expect(byAccount(await list().claim(4))).toEqual({ 3: 1 });
  });

  it('gives what nobody has said anything of once more, later each time', async () => {
    await wait(1, 1);
    const minutes: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt++) {
      let waited = 0;
      for (;;) {
        const [feed] = await list().claim(4);
        if (feed !== undefined) {
          expect(feed.attempt).toBe(attempt);
          break;
        }
        await later(1);
        waited += 1;
      }
      minutes.push(waited);
    }
    expect(minutes).toEqual([0, 2, 4, 8]);
  });

  it('says when one is read next', async () => {
    await wait(1, 1);
    const [first] = await list().claim(4);
    if (first === undefined) throw new Error('nothing was claimed');
    await list().rest(first, { afterMs: 3_600_000, isRead: true });
    await later(50);
    expect(await list().claim(4)).toEqual([]);
    await later(20);
    const [again] = await list().claim(4);
    expect(again).toEqual({ ...first, lease: expect.any(String) });
    // Its lease is over.
    await list().rest(first, { afterMs: 0, isRead: true });
    expect(await list().claim(4)).toEqual([]);
    if (again === undefined) return;
    await list().rest(again, 'asked');
    await later(1_000_000);
    expect(await list().claim(4)).toEqual([]);
  });
});

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

describe('what is on it', () => {
  it('is what was named last; what comes of readings changes nothing', async () => {
    const named = event(0, 'CatalogPublished', 'feed');
    await apply(named, named);
    const [first] = await list().claim(4);
    expect(first).toMatchObject({ catalogId, revision: 0 });
    await apply(named, event(1, 'CatalogFeedFailed'), event(2, 'CatalogFeedRead'));
    expect(await list().claim(4)).toEqual([]);
  });

  it('is asked for again while it is read: whatever comes of that, it is read once more, a minute later', async () => {
    await apply(event(0, 'CatalogPublished', 'feed'));
    const [first] = await list().claim(4);
    if (first === undefined) throw new Error('nothing was claimed');
    await apply(event(1, 'CatalogFeedRead'), event(2, 'CatalogFeedAsked'));
    await later(1);
    expect(await list().claim(4)).toEqual([]);
    await apply(event(3, 'CatalogFeedAsked'));
    await later(-1);
    await list().rest(first, 'asked');
    expect(await list().claim(4)).toEqual([]);
    await later(2);
    const [second] = await list().claim(4);
    expect(second).toMatchObject({ revision: 3, attempt: 1 });
    if (second === undefined) return;
    await list().rest(second, 'asked');
    await apply(event(4, 'CatalogFeedAsked'));
    expect(await list().claim(4)).toEqual([]);
    await later(2);
    expect(await list().claim(4)).toHaveLength(1);
  });

  it('goes while it is read, and is named again: the next reading waits for this one, and a minute', async () => {
    await apply(event(0, 'CatalogPublished', 'feed'));
    const [first] = await list().claim(4);
    if (first === undefined) throw new Error('nothing was claimed');
    await apply(event(1, 'CatalogArchived'));
    await apply(event(2, 'CatalogPublished', 'feed'));
    expect(await list().claim(4)).toEqual([]);
    await list().rest(first, 'gone');
    await apply(event(3, 'CatalogArchived'));
    await apply(event(4, 'CatalogPublished', 'feed'));
    expect(await list().claim(4)).toEqual([]);
    await apply(event(5, 'CatalogArchived'));
    await later(2);
    const [last] = await list().claim(4);
    expect(last).toMatchObject({ revision: 5 });
    if (last !== undefined) await list().rest(last, 'gone');
    expect((await pool.query('select from catalog_feeds')).rowCount).toBe(0);
  });

  it.each([
    ['CatalogPublished', 'inline'],
    ['CatalogArchived', undefined],
  ])('goes with %s %s, whatever is delivered again', async (type, kind) => {
    await apply(event(0, 'CatalogPublished', 'feed'));
    await apply(event(1, type, kind));
    expect(await list().claim(4)).toEqual([]);
    await apply(event(2, 'CatalogPublished', 'feed'));
    await apply(event(1, type, kind));
    expect(await list().claim(4)).toHaveLength(1);
  });
});
