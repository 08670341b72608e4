import { withCorrelation, withEventsOf } from '../../shared/tracing/correlation.ts';
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
import { removeWork, requestWork, requestWorkAgain } from '../../shared/work-list/request-work.ts';
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

const LEASES = 10;
const KIND = 'syndication';
let database: TestDatabase;
let pool: Pool;
/** One list for each of several processes, on the same rows. */
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

/** @param agoS for how many seconds the entries have been due */
const addDue = async (customerId: number, count: number, agoS = 0): Promise<readonly string[]> => {
  const ids = Array.from({ length: count }, () => randomUUID());
  await pool.query(
    `insert into work_list (kind, customer_id, key, revision, due_at)
     select $4, $1, id, '1', now() - make_interval(secs => $3) from unnest($2::uuid[]) as id`,
    [customerId, ids, agoS, KIND],
  );
  return ids;
};

const advance = (seconds: number) =>
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
  if (entry === undefined) throw new Error('no entry was offered');
  return entry;
};

describe('the work list', () => {
  it('leases at most `perAccountMax` entries of an account', async () => {
    await addDue(1, 500, 60);
    expect(byAccount(await offer(100))).toEqual({ 1: LEASES });
    expect(await offer(100)).toEqual([]);
    await addDue(2, 30);
    expect(byAccount(await offer(100))).toEqual({ 2: LEASES });
    expect(await list.offer('another', { countMax: 10, perAccountMax: 10 })).toEqual([]);
  });

  it('prefers accounts with the fewest leases, also if others have waited longer', async () => {
    await addDue(1, 500, 60);
    expect(byAccount(await offer(5))).toEqual({ 1: 5 });
    await addDue(2, 3, 1);
    await addDue(3, 500);
    expect(byAccount(await offer(8))).toEqual({ 2: 3, 3: 5 });
    expect(byAccount(await offer(100))).toEqual({ 1: 5, 3: 5 });
  });

  it('also leases to an account that is listed after a long backlog of another', async () => {
    await addDue(1, 1_200, 60);
    await addDue(2, 3);
    expect(byAccount(await offer(8))).toEqual({ 1: 5, 2: 3 });
  });

  it('never leases more, given that many processes offer, end and lose jobs concurrently', async () => {
    const random = createRandom(11);
    await addDue(1, 400);
    await addDue(2, 40);
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
        if (offered.length === 0) await advance(20);
      }
    };
    await Promise.all(lists.map(worker));
    expect(done.size).toBe(440);
    expect(leasesMax).toBe(LEASES);
  });

  it('offers an entry again after an expired lease or the delay of a failure, and stores the error', async () => {
    await addDue(1, 1);
    const entry = firstOf(await offer(1));
    expect(entry).toMatchObject({ leasedRevision: undefined, attempts: 0, lost: 0 });
    expect([await offer(1), await list.due([KIND])]).toEqual([[], []]);
    await advance(20);
    expect(await list.due([KIND, 'another'])).toEqual([KIND]);
    expect(firstOf(await offer(1))).toMatchObject({ key: entry.key, leasedRevision: '1' });
    await list.countLost([entry]);
    await list.noteError(entry, 'The store is unavailable.');
    expect(await rows('last_error, lost')).toEqual([{ last_error: 'The store is unavailable.', lost: 1 }]);
    await list.settle(entry, failed(60_000, 'The agent is busy.'));
    expect(await rows("last_error, failed_at > now() - interval '1 minute' as recent")).toEqual([
      { last_error: 'The agent is busy.', recent: true },
    ]);
    expect(await offer(1)).toEqual([]);
    await advance(61);
    expect(firstOf(await offer(1))).toMatchObject({ leasedRevision: undefined, attempts: 1, lost: 0 });
  });

  it('removes completed entries, keeps continued ones, and resets failures after a success', async () => {
    await addDue(1, 3);
    const [one, two, three] = (await offer(3)) as [OfferedEntry, OfferedEntry, OfferedEntry];
    await list.settle(one, DONE);
    await list.settle(two, failed(0));
    await list.settle(three, { is: 'next' });
    await advance(1);
    const again = firstOf(await offer(3));
    expect(again).toMatchObject({ key: two.key, attempts: 1 });
    await list.settle(again, { is: 'next', afterMs: 60_000 });
    expect(await rows('attempts, last_error')).toEqual([
      { attempts: 0, last_error: null },
      { attempts: 0, last_error: null },
    ]);
    await advance(1_000_000);
    expect((await offer(3)).map(({ key }) => key)).toEqual([two.key]);
  });

  it('counts an attempt once, even if its job ends twice', async () => {
    await addDue(1, 1);
    const entry = firstOf(await offer(1));
    await list.settle(entry, failed(0));
    await list.settle(entry, failed(0));
    expect(await rows('attempts')).toEqual([{ attempts: 1 }]);
    await advance(1);
    await list.settle(firstOf(await offer(1)), failed(0));
    await list.settle(entry, failed(0));
    expect(await rows('attempts')).toEqual([{ attempts: 2 }]);
  });

  it('keeps an entry that was requested again during its job, for any result', async () => {
    const key = randomUUID();
    for (const result of [DONE, failed(3_600_000), { is: 'next' } as const]) {
      await pool.query('truncate work_list');
      await ask([key, 1]);
      const entry = firstOf(await offer(1));
      await ask([key, 2]);
      // The newer revision waits for the job of the older one.
      expect(await offer(1)).toEqual([]);
      await list.settle(entry, result);
      expect(await rows("attempts, last_error, leased_until, due_at - now() > '0.2 s' as waits")).toEqual([
        { attempts: 0, last_error: null, leased_until: null, waits: AGAIN_MS_MIN > 200 },
      ]);
      await advance(1);
      expect(firstOf(await offer(1))).toMatchObject({
        revision: '0000000000000002',
        data: { revision: 2 },
        leasedRevision: undefined,
      });
    }
  });

  it('reports the revision of the job with the expired lease, until another job replaces it', async () => {
    const key = randomUUID();
    await ask([key, 9]);
    await offer(1);
    await ask([key, 10], [randomUUID(), 'a-position']);
    for (let n = 0; n < 2; n++) {
      await advance(20);
      const again = (await offer(2)).find((entry) => entry.key === key);
      expect(again).toMatchObject({ revision: '0000000000000010', leasedRevision: '0000000000000009' });
    }
    const [entry] = (await pool.query<OfferedEntry>(`select revision from work_list where key = $1`, [key]))
      .rows;
    await list.countLost([{ ...(entry as OfferedEntry), kind: KIND, customerId: 1, key }]);
    await advance(20);
    const again = (await offer(2)).find((one) => one.key === key);
    expect(again).toMatchObject({ leasedRevision: '0000000000000010', lost: 1 });
  });

  it('ignores requests for an earlier revision', async () => {
    const key = randomUUID();
    await ask([key, 10]);
    await ask([key, 9]);
    await ask([key, 10]);
    expect(firstOf(await offer(1))).toMatchObject({ revision: '0000000000000010' });
  });

  it('keeps the pause between two runs, also for new requests', async () => {
    const key = randomUUID();
    await ask([key, 1]);
    await list.settle(firstOf(await offer(1)), { is: 'next' }, 60_000);
    await ask([key, 2]);
    await advance(50);
    expect(await offer(1)).toEqual([]);
    await advance(11);
    expect(await offer(1)).toHaveLength(1);
  });

  it('given a failure with `holdMs`, then new revisions wait, and the entry stores the error', async () => {
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
    await advance(61);
    const second = firstOf(await offer(1));
    expect(second.revision).toBe('0000000000000002');
    await list.settle(second, { ...failed(60_000, 'x'.repeat(400) + ' y'.repeat(200)), holdMs: 60_000 });
    await ask([key, 3]);
    await advance(50);
    expect(await offer(1)).toEqual([]);
    expect(await rows('revision, attempts, length(last_error) <= 500 as bounded')).toEqual([
      { revision: '0000000000000003', attempts: 0, bounded: true },
    ]);
    await advance(11);
    expect(await offer(1)).toHaveLength(1);
  });

  it.each([
    ['work-ask-again', requestWorkAgain],
    ['work-take-off', removeWork],
  ])(
    '%s finds entries by the whole key, also with a plan that was made for an empty list',
    async (name, write) => {
      const { rows: plan } = await inTransaction(pool, async (client) => {
        await write(client, KIND, [{ customerId: 1, key: randomUUID(), revision: 1 }]);
        return client.query<{ 'QUERY PLAN': string }>(
          `explain execute "${name}" (array['${KIND}'], array[1], array['${randomUUID()}'::uuid], array['1'])`,
        );
      });
      expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toMatch(
        /Function Scan on n .*Index Cond: .*\(customer_id = n\.customer_id\) AND \(key = n\.key\)/s,
      );
    },
  );

  it('knows the request that an entry belongs to: by its own stream, else by the last event of the account or by the work', async () => {
    const [own, other, later, next] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const event = (stream: string, customerId: number, correlationId: string) => ({
      stream,
      metadata: { customerId, correlationId },
    });
    const batch = [
      event(`campaign-1-${own}`, 1, 'first'),
      event('account-1', 1, 'second'),
      event('account-2', 2, 'of another account'),
    ];
    await withEventsOf(batch, () => ask([own, 1], [other, 1]));
    await ask([later, 1]);
    await withCorrelation('of the work', () => ask([next, 1]));
    const offered = await offer(4);
    const byKey = Object.fromEntries(offered.map(({ key, correlationId }) => [key, correlationId]));
    expect(byKey).toEqual({ [own]: 'first', [other]: 'second', [later]: null, [next]: 'of the work' });
  });

  it('waits for a projection that writes an entry, up to a time limit', async () => {
    await addDue(1, 3);
    const [held, slow, other] = (await offer(3)) as [OfferedEntry, OfferedEntry, OfferedEntry];
    const impatientPool = createPool(
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
      const impatientList = createWorkList(impatientPool);
      const holding = async ({ key }: OfferedEntry) => {
        await holder.query('begin');
        await holder.query('select from work_list where key = $1 for update', [key]);
      };
      await holding(slow);
      await Promise.all([slow, other].map((entry) => impatientList.settle(entry, DONE)));
      await holder.query('commit');
      await holding(held);
      const ending = list.settle(held, DONE);
      await holder.query('commit');
      await ending;
    } finally {
      holder.release();
      await impatientPool.end();
    }
    expect(await rows('key')).toEqual([{ key: slow.key }]);
  });
});

describe('the gauges', () => {
  it('count due and failed entries by kind', async () => {
    const registry = new Registry();
    createWorkMetrics(registry, pool, [KIND, 'another']);
    await addDue(1, 3, 60);
    const [leased, broken] = await offer(2);
    await list.settle(firstOf([broken as OfferedEntry]), failed(60_000));
    await list.noteError(firstOf([leased as OfferedEntry]), 'The store is unavailable.');
    const metrics = await registry.metrics();
    expect(metrics).toMatch(/^exchange_work_due{kind="syndication"} 1$/m);
    expect(metrics).toMatch(/^exchange_work_due{kind="another"} 0$/m);
    expect(metrics).toMatch(/^exchange_work_oldest_due_seconds{kind="syndication"} 6\d/m);
    expect(metrics).toMatch(/^exchange_work_oldest_due_seconds{kind="another"} 0$/m);
    expect(metrics).toMatch(/^exchange_work_failing{kind="syndication"} 2$/m);
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
type RecordSample = ReturnType<typeof recordOf>;

const step = (record: RecordSample, type: string, data: JsonObject) =>
  [`${SYNDICATION}-${record.customerId}-${record.recordId}`, type, data] as const;
const toggled = (record: RecordSample, enabled = true, generation = 1) =>
  step(record, 'SyndicationToggled', { ...record, enabled, generation } as never);
const startedAndDone = (record: RecordSample, generation: number, request: JsonObject = {}) => [
  step(record, 'SyndicationStarted', { generation, request }),
  step(record, 'SyndicationCompleted', { generation, responseData: {} }),
];

/** The revision of the next event of each stream, by database row. */
const nextRevisions = async (): Promise<Map<string, number>> => {
  const { rows: records } = await pool.query<{ id: string; revision: string }>(
    'select id, revision from syndication_records',
  );
  return new Map(records.map(({ id, revision }) => [`${SYNDICATION}-7-${id}`, Number(revision) + 1]));
};

/** Applies the events as one batch. */
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

const archivedMarks = async (): Promise<Readonly<Record<string, boolean>>> => {
  const { rows: entries } = await pool.query<{ key: string; archived: boolean }>(
    `select key, coalesce((data -> 'archived')::boolean, false) as archived from work_list`,
  );
  return Object.fromEntries(entries.map(({ key, archived }) => [key, archived]));
};

describe('a changed resource', () => {
  it('is checked again; a requested or unreadable feed has not changed', async () => {
    const catalog = recordOf({ resourceType: 'CATALOG', resourceId: 'shoes' });
    const stream = catalogStream(7, resourceIdOf(CATALOG, 7, 5, 'shoes'));
    const askedAt = () => rows('asked_at::text');
    await project(toggled(catalog));
    const before = await askedAt();
    await project([stream, 'CatalogFeedAsked', {}], [stream, 'CatalogFeedFailed', {}]);
    expect(await askedAt()).toEqual(before);
    await project([stream, 'CatalogFeedRead', {}], [stream, 'CatalogFeedFailed', {}]);
    expect(await askedAt()).not.toEqual(before);
  });
});

describe('an archived advertiser', () => {
  it('marks its enabled records, but not those that are enabled later in the same batch', async () => {
    const [before, after] = [recordOf(), recordOf({ resourceId: 'app' })];
    await project(
      toggled(before),
      ['advertiser-7-5', 'AdvertiserArchived', {}],
      ['advertiser-7-5', 'AdvertiserRestored', {}],
      toggled(after),
    );
    expect(await archivedMarks()).toEqual({ [before.recordId]: true, [after.recordId]: false });
  });

  it('marks its enabled records, also if others are disabled in the same batch', async () => {
    const [earlier, second] = [recordOf(), recordOf({ resourceId: 'app' })];
    await project(toggled(earlier), ['advertiser-7-5', 'AdvertiserArchived', {}], toggled(second, false));
    expect(await archivedMarks()).toEqual({ [earlier.recordId]: true });
  });

  it('marks the current generation, even if an earlier one is still listed', async () => {
    const record = recordOf();
    await project(toggled(record));
    // A rebuild applies many events before workers remove entries.
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

  it('keeps a record marked through a concurrent refresh, until the record is enabled again', async () => {
    const record = recordOf();
    await project(toggled(record), ...startedAndDone(record, 1));
    await project(['advertiser-7-5', 'AdvertiserArchived', {}]);
    await project(step(record, 'SyndicationRefreshed', { generation: 2 }));
    expect(await rows('revision, data')).toEqual([
      { revision: '0000000000000002', data: { archived: true } },
    ]);
    await project(toggled(record, false, 3), toggled(record, true, 4));
    expect(await rows('revision, data')).toEqual([{ revision: '0000000000000004', data: {} }]);
  });

  it('does not keep a record marked that is enabled again, even in a batch that leaves no work', async () => {
    const record = recordOf();
    await project(toggled(record), ...startedAndDone(record, 1));
    await project(['advertiser-7-5', 'AdvertiserArchived', {}]);
    expect(await archivedMarks()).toEqual({ [record.recordId]: true });
    await project(toggled(record, false, 2), toggled(record, true, 3), ...startedAndDone(record, 3));
    expect(await archivedMarks()).toEqual({});
    await project(step(record, 'SyndicationRefreshed', { generation: 4 }));
    expect(await archivedMarks()).toEqual({ [record.recordId]: false });
  });

  it('marks any number of records, in statements of limited size', async () => {
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

describe('the resources at an agent', () => {
  const register = (id: string, url: string) =>
    pool.query(
      `insert into adcp_agents (customer_id, id, status, revision, created_at, body)
       values (7, $1, 'ACTIVE', 0, now(), $2)`,
      [id, JSON.stringify({ url })],
    );

  it('include those of every registration with the same address', async () => {
    const [once, again, elsewhere] = [randomUUID(), randomUUID(), randomUUID()];
    await register(once, 'https://agent.example.com/mcp');
    await register(again, 'https://agent.example.com/mcp');
    await register(elsewhere, 'https://other.example.com/mcp');
    const web = recordOf({ agentId: once });
    const same = recordOf({ agentId: again });
    await project(
      toggled(web),
      toggled(same),
      toggled(recordOf({ agentId: again, resourceId: 'app' })),
      toggled(recordOf({ agentId: again, resourceId: 'shop', account: { account_id: 'another' } })),
      toggled(recordOf({ agentId: elsewhere, resourceId: 'tv' })),
    );
    const kept = await atAgents.kept(web as never, 10);
    expect(kept.map(({ resourceId }) => resourceId)).toEqual(['app', 'web']);
    expect(await atAgents.holders(web as never)).toMatchObject({
      isOtherAdvertisers: false,
      isOtherRegistrations: true,
      isUnsure: false,
    });
    await project(toggled(recordOf({ agentId: again, advertiserId: 6 })));
    expect(await atAgents.holders(web as never)).toMatchObject({ isOtherAdvertisers: true });
  });

  const request = {
    account: { account_id: 'acct' },
    event_sources: [{ event_source_id: 'web', name: 'old' }],
  };

  it('include the older state after a failed update, but not a resource that was never delivered', async () => {
    const agentId = randomUUID();
    await register(agentId, 'https://agent.example.com/mcp');
    const [web, never] = [recordOf({ agentId }), recordOf({ agentId, resourceId: 'never' })];
    await project(
      toggled(web),
      ...startedAndDone(web, 1, request),
      step(web, 'SyndicationRefreshed', { generation: 2 }),
      step(web, 'SyndicationFailed', { generation: 2, errorMessage: 'no' }),
      toggled(never),
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

  it('are uncertain after a failed deletion for another advertiser', async () => {
    const agentId = randomUUID();
    await register(agentId, 'https://agent.example.com/mcp');
    for (const removed of [true, false]) {
      const web = recordOf({ agentId, resourceId: `removed ${removed}` });
      const off = toggled(web, false, 2);
      await project(
        toggled(web),
        ...startedAndDone(web, 1, request),
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

  it('are unknown while the read model is rebuilt', async () => {
    const web = recordOf();
    await project(toggled(web));
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
