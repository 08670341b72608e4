import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { createAtAgents, isWhole } from '../../app/lookups/find-at-agents.ts';
import type { AtAgents } from '../../command/workers/syndication/at-agents.ts';
import { TryAgainError } from '../../command/workers/syndication/try-again.ts';
import type { SyndicationRecord } from '../../domain/syndication/resource.ts';
import { SYNDICATION } from '../../domain/syndication/syndication.ts';
import { CATALOG, catalogStream } from '../../domain/catalogs/catalog.ts';
import { syndicationProjection } from '../../projections/syndication.ts';
import type { JsonObject, Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { createLog } from '../../app/log.ts';
import { createPool, inTransaction } from '../../shared/postgres/pool.ts';
import { requestWork } from '../../shared/work-list/request-work.ts';
import {
  AGAIN_MS_MIN,
  createWorkList,
  DONE,
  type OfferedEntry,
  type WorkList,
  type WorkResult,
} from '../../shared/work-list/work-list.ts';
import { createWorkMetrics } from '../../shared/work-list/work-metrics.ts';
import { createRandom } from '../faults/kit/random.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** Which entries are offered, how many at once, and what becomes of those whose jobs have no result. */

const LEASES = 10;
const KIND = 'syndication';
let database: TestDatabase;
let pool: Pool;
/** Of several processes: each has a list of its own, on the same rows. */
let lists: readonly WorkList[];
let list: WorkList;
let atAgents: AtAgents;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(
    { connectionString: database.url, applicationName: 'test', max: 8, system: true },
    createLog('silent'),
  );
  lists = [1, 2, 3, 4].map(() => createWorkList(pool));
  list = createWorkList(pool);
  atAgents = createAtAgents(pool);
});
beforeEach(() =>
  pool.query(
    'truncate work_list, syndication_records, syndication_counts, adcp_agents, projection_checkpoints',
  ),
);
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** @param agoS since when it waits */
const wait = async (customerId: number, count: number, agoS = 0): Promise<readonly string[]> => {
  const ids = Array.from({ length: count }, () => randomUUID());
  await pool.query(
    `insert into work_list (kind, customer_id, key, revision, due_at)
     select $4, $1, id, '1', now() - make_interval(secs => $3) from unnest($2::uuid[]) as id`,
    [customerId, ids, agoS, KIND],
  );
  return ids;
};

const later = (seconds: number) =>
  pool.query(
    `with free as (select customer_id, key from work_list for update skip locked)
     update work_list w set due_at = w.due_at - make_interval(secs => $1),
       leased_until = w.leased_until - make_interval(secs => $1), not_before = w.not_before - make_interval(secs => $1)
     from free where w.customer_id = free.customer_id and w.key = free.key`,
    [seconds],
  );
const offer = (countMax: number, from = list) => from.offer(KIND, { countMax, perAccountMax: LEASES });
const ask = (...revisions: readonly [key: string, revision: number | string][]) =>
  inTransaction(pool, (client) =>
    requestWork(
      client,
      KIND,
      revisions.map(([key, revision]) => ({ customerId: 1, key, revision, data: { revision } })),
    ),
  );
const rows = async (columns: string) =>
  (await pool.query(`select ${columns} from work_list`)).rows as unknown;
const failed = (afterMs: number, reason = 'busy'): Extract<WorkResult, { is: 'again' }> => ({
  is: 'again',
  afterMs,
  isTry: true,
  reason,
});

const byAccount = (entries: readonly OfferedEntry[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { customerId } of entries) counts[customerId] = (counts[customerId] ?? 0) + 1;
  return counts;
};

const firstOf = ([entry]: readonly OfferedEntry[]): OfferedEntry => {
  if (entry === undefined) throw new Error('nothing was offered');
  return entry;
};

describe('the list of work', () => {
  it('leases an account so many entries and no more, whatever waits', async () => {
    await wait(1, 500, 60);
    expect(byAccount(await offer(100))).toEqual({ 1: LEASES });
    expect(await offer(100)).toEqual([]);
    await wait(2, 30);
    expect(byAccount(await offer(100))).toEqual({ 2: LEASES });
    expect(await list.offer('another', { countMax: 10, perAccountMax: 10 })).toEqual([]);
  });

  it('leases next to the accounts that have the fewest, however long the others have waited', async () => {
    await wait(1, 500, 60);
    expect(byAccount(await offer(5))).toEqual({ 1: 5 });
    await wait(2, 3, 1);
    await wait(3, 500);
    expect(byAccount(await offer(8))).toEqual({ 2: 3, 3: 5 });
    expect(byAccount(await offer(100))).toEqual({ 1: 5, 3: 5 });
  });

  it('also leases to an account that came after a long backlog of another', async () => {
    await wait(1, 1_200, 60);
    await wait(2, 3);
    expect(byAccount(await offer(8))).toEqual({ 1: 5, 2: 3 });
  });

  it('never leases more, when many processes offer, end and lose jobs at once', async () => {
    const random = createRandom(11);
    await wait(1, 400);
    await wait(2, 40);
    const done = new Set<string>();
    let leasesMax = 0;
    const worker = async (own: WorkList): Promise<void> => {
      while (done.size < 440) {
        const offered = await offer(20, own);
        const { rows: counts } = await pool.query<{ n: number }>(
          `select count(*)::int as n from work_list where leased_until is not null
           group by customer_id order by n desc limit 1`,
        );
        leasesMax = Math.max(leasesMax, counts[0]?.n ?? 0);
        for (const entry of offered) {
          if (random.chance(0.1)) continue;
          if (random.chance(0.3)) await own.settle(entry, failed(0));
          else {
            await own.settle(entry, DONE);
            done.add(entry.key);
          }
        }
        if (offered.length === 0) await later(20);
      }
    };
    await Promise.all(lists.map(worker));
    expect(done.size).toBe(440);
    expect(leasesMax).toBe(LEASES);
  });

  it('offers again what has no result, and what failed when its time has come; and says why it failed', async () => {
    await wait(1, 1);
    const entry = firstOf(await offer(1));
    expect(entry).toMatchObject({ leasedRevision: undefined, attempts: 0, lost: 0 });
    expect([await offer(1), await list.due([KIND])]).toEqual([[], []]);
    await later(20);
    expect(await list.due([KIND, 'another'])).toEqual([KIND]);
    expect(firstOf(await offer(1))).toMatchObject({ key: entry.key, leasedRevision: '1' });
    await list.countLost([entry]);
    await list.noteError(entry, 'The store is away.');
    expect(await rows('last_error, lost')).toEqual([{ last_error: 'The store is away.', lost: 1 }]);
    await list.settle(entry, failed(60_000, 'The agent is busy.'));
    expect(await rows("last_error, failed_at > now() - interval '1 minute' as recent")).toEqual([
      { last_error: 'The agent is busy.', recent: true },
    ]);
    expect(await offer(1)).toEqual([]);
    await later(61);
    expect(firstOf(await offer(1))).toMatchObject({ leasedRevision: undefined, attempts: 1, lost: 0 });
  });

  it('takes what is done off, keeps what goes on, and forgets the failures before a success', async () => {
    await wait(1, 3);
    const [one, two, three] = (await offer(3)) as [OfferedEntry, OfferedEntry, OfferedEntry];
    await list.settle(one, DONE);
    await list.settle(two, failed(0));
    await list.settle(three, { is: 'next' });
    await later(1);
    const again = firstOf(await offer(3));
    expect(again).toMatchObject({ key: two.key, attempts: 1 });
    await list.settle(again, { is: 'next', afterMs: 60_000 });
    expect(await rows('attempts, last_error')).toEqual([
      { attempts: 0, last_error: null },
      { attempts: 0, last_error: null },
    ]);
    await later(1_000_000);
    expect((await offer(3)).map(({ key }) => key)).toEqual([two.key]);
  });

  it('counts a try once, also when its job ends twice', async () => {
    await wait(1, 1);
    const entry = firstOf(await offer(1));
    await list.settle(entry, failed(0));
    await list.settle(entry, failed(0));
    expect(await rows('attempts')).toEqual([{ attempts: 1 }]);
    await later(1);
    await list.settle(firstOf(await offer(1)), failed(0));
    await list.settle(entry, failed(0));
    expect(await rows('attempts')).toEqual([{ attempts: 2 }]);
  });

  it('keeps an entry that was asked for again while a worker had it, whatever comes of that', async () => {
    const key = randomUUID();
    for (const result of [DONE, failed(3_600_000), { is: 'next' } as const]) {
      await pool.query('truncate work_list');
      await ask([key, 1]);
      const entry = firstOf(await offer(1));
      await ask([key, 2]);
      // The worker has the older revision: the newer one waits for its end.
      expect(await offer(1)).toEqual([]);
      await list.settle(entry, result);
      expect(await rows("attempts, last_error, leased_until, due_at - now() > '0.2 s' as waits")).toEqual([
        { attempts: 0, last_error: null, leased_until: null, waits: AGAIN_MS_MIN > 200 },
      ]);
      await later(1);
      expect(firstOf(await offer(1))).toMatchObject({
        revision: '0000000000000002',
        data: { revision: 2 },
        leasedRevision: undefined,
      });
    }
  });

  it('says of which revision the job is whose lease ended, until another takes its place', async () => {
    const key = randomUUID();
    await ask([key, 9]);
    await offer(1);
    await ask([key, 10], [randomUUID(), 'a-position']);
    for (let n = 0; n < 2; n++) {
      await later(20);
      const again = (await offer(2)).find((entry) => entry.key === key);
      expect(again).toMatchObject({ revision: '0000000000000010', leasedRevision: '0000000000000009' });
    }
    const [entry] = (await pool.query<OfferedEntry>(`select revision from work_list where key = $1`, [key]))
      .rows;
    await list.countLost([{ ...(entry as OfferedEntry), kind: KIND, customerId: 1, key }]);
    await later(20);
    const again = (await offer(2)).find((one) => one.key === key);
    expect(again).toMatchObject({ leasedRevision: '0000000000000010', lost: 1 });
  });

  it('ignores what was asked for before', async () => {
    const key = randomUUID();
    await ask([key, 10]);
    await ask([key, 9]);
    await ask([key, 10]);
    expect(firstOf(await offer(1))).toMatchObject({ revision: '0000000000000010' });
  });

  it('keeps the pause between two runs, whatever is asked for', async () => {
    const key = randomUUID();
    await ask([key, 1]);
    await list.settle(firstOf(await offer(1)), { is: 'next' }, 60_000);
    await ask([key, 2]);
    await later(50);
    expect(await offer(1)).toEqual([]);
    await later(11);
    expect(await offer(1)).toHaveLength(1);
  });

  it('holds new revisions back after a failure that asks for it, and says why', async () => {
    const key = randomUUID();
    const isHeld = async (reason: string) => {
      expect(await offer(1)).toEqual([]);
      expect(await rows('revision, attempts, last_error')).toEqual([
        { revision: '0000000000000002', attempts: 0, last_error: reason },
      ]);
    };
    await ask([key, 1]);
    const first = firstOf(await offer(1));
    await ask([key, 2]);
    await list.settle(first, { ...failed(60_000, 'too many\u0007 calls'), holdMs: 60_000 });
    await isHeld('too many  calls');
    await later(61);
    const second = firstOf(await offer(1));
    expect(second.revision).toBe('0000000000000002');
    await list.settle(second, { ...failed(60_000, 'x'.repeat(400) + ' y'.repeat(200)), holdMs: 60_000 });
    await ask([key, 3]);
    await later(50);
    expect(await offer(1)).toEqual([]);
    expect(await rows('revision, attempts, length(last_error) <= 500 as bounded')).toEqual([
      { revision: '0000000000000003', attempts: 0, bounded: true },
    ]);
    await later(11);
    expect(await offer(1)).toHaveLength(1);
  });

  it('waits for a projection that writes an entry, and for none that takes too long', async () => {
    await wait(1, 3);
    const [held, slow, other] = (await offer(3)) as [OfferedEntry, OfferedEntry, OfferedEntry];
    const hasty = createPool(
      {
        connectionString: database.url,
        applicationName: 'test',
        max: 2,
        system: true,
        timeouts: { statementMs: 300, queryMs: 2_000, connectMs: 2_000 },
      },
      createLog('silent'),
    );
    const holder = await pool.connect();
    try {
      const hastily = createWorkList(hasty);
      const holding = async ({ key }: OfferedEntry) => {
        await holder.query('begin');
        await holder.query('select from work_list where key = $1 for update', [key]);
      };
      await holding(slow);
      await Promise.all([slow, other].map((entry) => hastily.settle(entry, DONE)));
      await holder.query('commit');
      await holding(held);
      const ending = list.settle(held, DONE);
      await holder.query('commit');
      await ending;
    } finally {
      holder.release();
      await hasty.end();
    }
    expect(await rows('key')).toEqual([{ key: slow.key }]);
  });
});

describe('the gauges', () => {
  it('count what is due and what failed, by kind', async () => {
    const registry = new Registry();
    createWorkMetrics(registry, pool, [KIND, 'another']);
    await wait(1, 3, 60);
    const [leased, broken] = await offer(2);
    await list.settle(firstOf([broken as OfferedEntry]), failed(60_000));
    await list.noteError(firstOf([leased as OfferedEntry]), 'The store is away.');
    const metrics = await registry.metrics();
    expect(metrics).toMatch(/^work_due{kind="syndication"} 1$/m);
    expect(metrics).toMatch(/^work_due{kind="another"} 0$/m);
    expect(metrics).toMatch(/^work_oldest_due_seconds{kind="syndication"} 6\d/m);
    expect(metrics).toMatch(/^work_oldest_due_seconds{kind="another"} 0$/m);
    expect(metrics).toMatch(/^work_failing{kind="syndication"} 2$/m);
  });
});

const recordOf = (more: Partial<SyndicationRecord> = {}) => ({
  recordId: randomUUID(),
  customerId: 7,
  advertiserId: 5,
  resourceType: 'EVENT_SOURCE' as const,
  resourceId: 'web',
  agentId: randomUUID(),
  account: { account_id: 'acct' },
  ...more,
});
type Placed = ReturnType<typeof recordOf>;

const on = (record: Placed, enabled = true): readonly [stream: string, type: string, data: JsonObject] => [
  `${SYNDICATION}-${record.customerId}-${record.recordId}`,
  'SyndicationToggled',
  { ...record, enabled, generation: 1 } as never,
];

/** The revision of the next event of each stream, by database row. */
const nextRevisions = async (): Promise<Map<string, number>> => {
  const { rows: records } = await pool.query<{ id: string; revision: string }>(
    'select id, revision from syndication_records',
  );
  return new Map(records.map(({ id, revision }) => [`${SYNDICATION}-7-${id}`, Number(revision) + 1]));
};

/** As one batch. */
const project = async (...events: readonly (readonly [stream: string, type: string, data: JsonObject])[]) => {
  const revisions = await nextRevisions();
  const recorded = events.map(([stream, type, data], n): RecordedEvent => {
    const revision = revisions.get(stream) ?? 0;
    revisions.set(stream, revision + 1);
    const at = '2026-01-01T00:00:00.000Z';
    const who = { customerId: 7, actor: 'test', requestId: 'r', correlationId: 'r', causationId: 'r' };
    const metadata = { ...who, occurredAt: at, schemaVersion: 1 };
    const position = String(n + 1).padStart(16, '0') as Position;
    return { id: randomUUID(), stream, type, data, metadata, revision, position, recordedAt: at };
  });
  return inTransaction(pool, (client) => syndicationProjection.apply(client, recorded));
};

const marks = async (): Promise<Readonly<Record<string, boolean>>> => {
  const { rows: entries } = await pool.query<{ key: string; archived: boolean }>(
    `select key, coalesce((data -> 'archived')::boolean, false) as archived from work_list`,
  );
  return Object.fromEntries(entries.map(({ key, archived }) => [key, archived]));
};

describe('what was changed', () => {
  it('is looked at again; a feed that is asked for, or cannot be read, has not changed', async () => {
    const catalog = recordOf({ resourceType: 'CATALOG', resourceId: 'shoes' });
    const stream = catalogStream(7, resourceIdOf(CATALOG, 7, 5, 'shoes'));
    const askedAt = () => rows('asked_at::text');
    await project(on(catalog));
    const before = await askedAt();
    await project([stream, 'CatalogFeedAsked', {}], [stream, 'CatalogFeedFailed', {}]);
    expect(await askedAt()).toEqual(before);
    await project([stream, 'CatalogFeedRead', {}], [stream, 'CatalogFeedFailed', {}]);
    expect(await askedAt()).not.toEqual(before);
  });
});

describe('what was archived or deleted', () => {
  it('marks what is on by then, and not what is switched on after it in the same batch', async () => {
    const [before, after] = [recordOf(), recordOf({ resourceId: 'app' })];
    await project(
      on(before),
      ['advertiser-7-5', 'AdvertiserArchived', {}],
      ['advertiser-7-5', 'AdvertiserRestored', {}],
      on(after),
    );
    expect(await marks()).toEqual({ [before.recordId]: true, [after.recordId]: false });
  });

  it('marks what is on, too, when other things are switched off between', async () => {
    const [earlier, second] = [recordOf(), recordOf({ resourceId: 'app' })];
    await project(on(earlier), ['advertiser-7-5', 'AdvertiserArchived', {}], on(second, false));
    expect(await marks()).toEqual({ [earlier.recordId]: true });
  });

  const step = (record: Placed, type: string, data: JsonObject) =>
    [`${SYNDICATION}-${record.customerId}-${record.recordId}`, type, data] as const;
  const startedAndDone = (record: Placed, generation: number) => [
    step(record, 'SyndicationStarted', { generation, request: {} }),
    step(record, 'SyndicationCompleted', { generation, responseData: {} }),
  ];

  it('marks the present generation, also when an ended one is still listed', async () => {
    const record = recordOf();
    await project(on(record));
    // A rebuild applies so many events before workers take anything off the list.
    await project(
      ...startedAndDone(record, 1),
      step(record, 'SyndicationRefreshed', { generation: 2 }),
      ...startedAndDone(record, 2),
    );
    await project(['advertiser-7-5', 'AdvertiserArchived', {}]);
    expect(await rows('revision, data')).toEqual([
      { revision: '0000000000000002', data: { archived: true } },
    ]);
  });

  it('stays marked through a refresh that a worker began before it knew, until it is switched on again', async () => {
    const record = recordOf();
    await project(on(record), ...startedAndDone(record, 1));
    await project(['advertiser-7-5', 'AdvertiserArchived', {}]);
    await project(step(record, 'SyndicationRefreshed', { generation: 2 }));
    expect(await rows('revision, data')).toEqual([
      { revision: '0000000000000002', data: { archived: true } },
    ]);
    await project(
      step(record, 'SyndicationToggled', { ...record, enabled: false, generation: 3 } as never),
      step(record, 'SyndicationToggled', { ...record, enabled: true, generation: 4 } as never),
    );
    expect(await rows('revision, data')).toEqual([{ revision: '0000000000000004', data: {} }]);
  });

  it('is not marked any more when it was switched on again, also in a batch that leaves nothing to do', async () => {
    const record = recordOf();
    await project(on(record), ...startedAndDone(record, 1));
    await project(['advertiser-7-5', 'AdvertiserArchived', {}]);
    expect(await marks()).toEqual({ [record.recordId]: true });
    await project(
      step(record, 'SyndicationToggled', { ...record, enabled: false, generation: 2 } as never),
      step(record, 'SyndicationToggled', { ...record, enabled: true, generation: 3 } as never),
      ...startedAndDone(record, 3),
    );
    expect(await marks()).toEqual({});
    await project(step(record, 'SyndicationRefreshed', { generation: 4 }));
    expect(await marks()).toEqual({ [record.recordId]: false });
  });

  it('marks all of an advertiser, however many: in statements of a bounded size', async () => {
    const agentId = randomUUID();
    for (const from of [1, 10_001, 20_001, 30_001]) {
      await pool.query(
        `insert into syndication_records (customer_id, id, advertiser_id, resource_type, resource_id, agent_id, account,
           status, waiting, generation, revision, updated_at, body)
         select 7, gen_random_uuid(), 5, 'EVENT_SOURCE', n::text, $1, '', case when n % 2 = 0 then 'COMPLETED' else 'DISABLED' end,
           false, 1, 0, '2026-01-01'::timestamptz + make_interval(secs => n / 1000), '{}'
         from generate_series($2::int, $2 + 9999) n`,
        [agentId, from],
      );
    }
    await project(['advertiser-7-5', 'AdvertiserArchived', {}]);
    expect(await rows('count(*) filter (where data = \'{"archived":true}\')::int as n')).toEqual([
      { n: 20_000 },
    ]);
  });
});

describe('what is at an agent', () => {
  const register = (id: string, url: string) =>
    pool.query(
      `insert into adcp_agents (customer_id, id, status, revision, created_at, body)
       values (7, $1, 'ACTIVE', 0, now(), $2)`,
      [id, JSON.stringify({ url })],
    );

  it('is all that any registration of its address has there', async () => {
    const [once, again, elsewhere] = [randomUUID(), randomUUID(), randomUUID()];
    await register(once, 'https://agent.example.com/mcp');
    await register(again, 'https://agent.example.com/mcp');
    await register(elsewhere, 'https://other.example.com/mcp');
    const web = recordOf({ agentId: once });
    const same = recordOf({ agentId: again });
    await project(
      on(web),
      on(same),
      on(recordOf({ agentId: again, resourceId: 'app' })),
      on(recordOf({ agentId: again, resourceId: 'shop', account: { account_id: 'another' } })),
      on(recordOf({ agentId: elsewhere, resourceId: 'tv' })),
    );
    const kept = await atAgents.kept(web as never, 10);
    expect(kept.map(({ resourceId }) => resourceId)).toEqual(['app', 'web']);
    expect(await atAgents.holders(web as never)).toMatchObject({
      isOtherAdvertisers: false,
      isOtherRegistrations: true,
      isUnsure: false,
    });
    await project(on(recordOf({ agentId: again, advertiserId: 6 })));
    expect(await atAgents.holders(web as never)).toMatchObject({ isOtherAdvertisers: true });
  });

  const step = (record: Placed, type: string, data: JsonObject) =>
    [`${SYNDICATION}-${record.customerId}-${record.recordId}`, type, data] as const;
  const request = {
    account: { account_id: 'acct' },
    event_sources: [{ event_source_id: 'web', name: 'old' }],
  };
  const done = (record: Placed, generation: number) => [
    step(record, 'SyndicationStarted', { generation, request }),
    step(record, 'SyndicationCompleted', { generation, responseData: {} }),
  ];

  it('is the older state of what could not be brought up to date, and nothing of what never came there', async () => {
    const agentId = randomUUID();
    await register(agentId, 'https://agent.example.com/mcp');
    const [web, never] = [recordOf({ agentId }), recordOf({ agentId, resourceId: 'never' })];
    await project(
      on(web),
      ...done(web, 1),
      step(web, 'SyndicationRefreshed', { generation: 2 }),
      step(web, 'SyndicationFailed', { generation: 2, errorMessage: 'no' }),
      on(never),
      step(never, 'SyndicationFailed', { generation: 1, errorMessage: 'no' }),
    );
    const asker = recordOf({ agentId, resourceId: 'app' });
    expect(await atAgents.kept(asker as never, 10)).toEqual([
      { advertiserId: 5, resourceId: 'web', stillThere: request, hasFailed: true },
    ]);
    const others = (resourceId: string) =>
      atAgents.holders(recordOf({ agentId, advertiserId: 6, resourceId }) as never);
    expect(await others('web')).toMatchObject({ isOtherAdvertisers: true });
    expect(await others('never')).toMatchObject({ isOtherAdvertisers: false, isUnsure: true });
  });

  it('is not known of what somebody else has switched off and the agent could not be told of', async () => {
    const agentId = randomUUID();
    await register(agentId, 'https://agent.example.com/mcp');
    for (const removed of [true, false]) {
      const web = recordOf({ agentId, resourceId: `removed ${removed}` });
      const off = step(web, 'SyndicationToggled', { ...web, enabled: false, generation: 2 } as never);
      await project(
        on(web),
        ...done(web, 1),
        off,
        step(web, 'SyndicationWithdrawn', { generation: 2, removed }),
      );
      const other = recordOf({ agentId, advertiserId: 6, resourceId: web.resourceId });
      expect(await atAgents.holders(other as never)).toMatchObject({
        isOtherAdvertisers: false,
        isUnsure: !removed,
      });
    }
  });

  it('is not known, and nothing is offered, while the read model is made anew', async () => {
    const web = recordOf();
    await project(on(web));
    const reach = (position: string) =>
      pool.query(
        `insert into projection_checkpoints (name, position, whole_at) values ('syndication', $1, '0000000000000009')
         on conflict (name) do update set position = excluded.position`,
        [position],
      );
    await reach('0000000000000008');
    expect(await isWhole(pool)).toBe(false);
    await expect(atAgents.kept(web as never, 10)).rejects.toThrow(TryAgainError);
    await expect(atAgents.holders(web as never)).rejects.toThrow(TryAgainError);
    await reach('0000000000000009');
    expect(await isWhole(pool)).toBe(true);
    expect(await atAgents.kept(web as never, 10)).toHaveLength(1);
    expect(await atAgents.holders(web as never)).toMatchObject({ isOtherAdvertisers: false });
  });
});
