import { beforeAll, expect, it } from '@jest/globals';
import { ACCESS_CHANGED } from '../../domain/notifications/kinds.ts';
import { createFeedCursors, LAST_IDX, type FeedPlace } from '../../query/notifications/cursor.ts';
import { createLiveFeed, newsQuery } from '../../query/realtime/read-live-feed.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { nodesOf, type PlanNode } from '../support/plan-nodes.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { framesOf } from '../support/sse.ts';

const readModels = useReadModelDatabase();
const ACCOUNTS = 100;
const MANY = 20_000;
const at = (n: number): string => String(n).padStart(16, '0');
const placeOf = (n: number, idx = LAST_IDX): FeedPlace => ({
  position: at(n),
  idx,
  at: new Date().toISOString(),
});

beforeAll(async () => {
  await readModels.pool.query(
    `insert into notifications (customer_id, position, idx, id, kind, resource_type, resource_id, occurred_at,
       revision, changed)
     select 1 + n % $2::int, lpad(n::text, 16, '0'), 0, gen_random_uuid(),
       case when n = $1::int then $3 else 'campaign.updated' end, 'X', 'x', now(), 1, '{}'
     from generate_series(1, $1::int) n`,
    [MANY, ACCOUNTS, ACCESS_CHANGED],
  );
  await readModels.pool.query('analyze notifications');
  await checkpoint('notifications', MANY);
});

const checkpoint = (name: string, position: number, wholeAt = 0) =>
  readModels.pool.query(
    `insert into projection_checkpoints (name, position, epoch, whole_at) values ($1, $2, 1, $3)
     on conflict (name) do update set position = excluded.position, whole_at = excluded.whole_at`,
    [name, at(position), at(wholeAt)],
  );

const cursors = createFeedCursors(async () => parseKeyRing(`test:${'A'.repeat(43)}`));
const feedOf = () =>
  createLiveFeed({
    pool: readModels.pool,
    database: readModels.tenant,
    cursors,
    baseUrl: () => 'https://exchange.example',
  });

/** Customer 1 has the last row. */
const accounts = Array.from({ length: ACCOUNTS }, (_, n) => ({
  customerId: n + 1,
  place: n < 2 ? placeOf(MANY - 100) : placeOf(MANY),
}));

it('one statement finds the accounts with news, and reads an index once an account', async () => {
  const news = await feedOf().news(accounts);
  expect(news).toEqual({
    end: { position: at(MANY), idx: LAST_IDX, at: expect.any(String) },
    customerIds: [1, 2],
  });
  const { text, values } = newsQuery(accounts);
  const { rows } = await readModels.pool.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
    `explain (analyze, timing off, format json) ${text}`,
    values,
  );
  const read = nodesOf(rows[0]?.['QUERY PLAN'][0]?.Plan).filter(
    (node) => node['Relation Name'] === 'notifications',
  );
  expect(read.map((node) => [node['Node Type'], node['Actual Loops']])).toEqual([
    ['Index Only Scan', ACCOUNTS],
  ]);
  expect(read.every((node) => (node['Rows Removed by Filter'] ?? 0) === 0)).toBe(true);
});

it('a page has the frames of the notifications, and changes of credentials without one', async () => {
  const page = await feedOf().page(1, placeOf(MANY - 150), 10);
  expect([page.hasMore, page.next.position]).toEqual([false, at(MANY)]);
  expect(page.entries.map(({ kind, changesAccess }) => [kind, changesAccess])).toEqual([
    ['campaign.updated', false],
    [ACCESS_CHANGED, true],
  ]);
  expect(page.entries[1]?.frame).toBe('');
  const [frame] = framesOf(page.entries[0]?.frame ?? '');
  expect(frame?.event).toBe('campaign.updated');
  expect(await cursors.read(1, frame?.id ?? '', 'x')).toEqual(page.entries[0]?.place);
});

it('a read model that is reset is behind the streams, and new streams begin where it was', async () => {
  await checkpoint('notifications', 50, MANY);
  const feed = feedOf();
  expect((await feed.end()).position).toBe(at(MANY));
  expect((await feed.news([])).end.position).toBe(at(50));
  const resumed = placeOf(MANY, 0);
  expect(await feed.page(5, resumed, 10)).toEqual({ entries: [], hasMore: false, next: resumed });
});

it('credentials are known up to the position of their tables', async () => {
  const feed = feedOf();
  expect(await feed.isAccessKnown(at(1))).toBe(false);
  await checkpoint('credentials', 5);
  expect([await feed.isAccessKnown(at(5)), await feed.isAccessKnown(at(6))]).toEqual([true, false]);
});
