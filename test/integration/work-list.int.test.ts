import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import {
  createWorkList,
  DONE,
  RETRY_MS_MIN,
  type OfferedWork,
  type WorkList,
} from '../../command/workers/syndication/work-list.ts';
import type { SyndicationRecord } from '../../domain/syndication/syndication-resource.ts';
import { SYNDICATION } from '../../domain/syndication/syndication.ts';
import { CATALOG, catalogStream } from '../../domain/catalogs/catalog.ts';
import { syndicationProjection } from '../../projections/syndication.ts';
import type { JsonObject, Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { createLog } from '../../app/log.ts';
import { createPool, inTransaction } from '../../shared/postgres/pool.ts';
import { PostponeJobError } from '../../shared/queue/job-queue.ts';
import { createRandom } from '../faults/kit/random.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** Who gets a turn, how many at once, and what becomes of work of which nobody says anything. */

const TURNS = 10;
let database: TestDatabase;
let pool: Pool;
/** Of several processes: each has a list of its own, on the same rows. */
let lists: readonly WorkList[];
let list: WorkList;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(
    { connectionString: database.url, applicationName: 'test', max: 8, system: true },
    createLog('silent'),
  );
  lists = [1, 2, 3, 4].map(() => createWorkList({ pool, perAccountMax: TURNS }));
  list = createWorkList({ pool, perAccountMax: TURNS });
});
beforeEach(() =>
  pool.query(
    'truncate syndication_work, syndication_records, syndication_counts, adcp_agents, projection_checkpoints',
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
    `insert into syndication_work (customer_id, record_id, generation, due_at)
     select $1, id, 1, now() - make_interval(secs => $3) from unnest($2::uuid[]) as id`,
    [customerId, ids, agoS],
  );
  return ids;
};

const later = (seconds: number) =>
  pool.query(
    `with free as (select customer_id, record_id from syndication_work for update skip locked)
     update syndication_work w set due_at = w.due_at - make_interval(secs => $1) from free
     where w.customer_id = free.customer_id and w.record_id = free.record_id`,
    [seconds],
  );

const byAccount = (works: readonly OfferedWork[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { customerId } of works) counts[customerId] = (counts[customerId] ?? 0) + 1;
  return counts;
};

const firstOf = ([work]: readonly OfferedWork[]): OfferedWork => {
  if (work === undefined) throw new Error('nothing was offered');
  return work;
};

describe('the list of work', () => {
  it('gives an account so many turns and no more, whatever waits', async () => {
    await wait(1, 500, 60);
    expect(byAccount(await list.offer(100))).toEqual({ 1: TURNS });
    expect(await list.offer(100)).toEqual([]);
    await wait(2, 30);
    expect(byAccount(await list.offer(100))).toEqual({ 2: TURNS });
  });

  it('gives the next turns to whom has the fewest, however long the others have waited', async () => {
    await wait(1, 500, 60);
    expect(byAccount(await list.offer(5))).toEqual({ 1: 5 });
    await wait(2, 3, 1);
    await wait(3, 500);
    expect(byAccount(await list.offer(8))).toEqual({ 2: 3, 3: 5 });
    expect(byAccount(await list.offer(100))).toEqual({ 1: 5, 3: 5 });
  });

  it('never gives more, when many processes offer, end and lose jobs at once', async () => {
    const random = createRandom(11);
    await wait(1, 400);
    await wait(2, 40);
    const done = new Set<string>();
    let turnsMax = 0;
    const worker = async (own: WorkList): Promise<void> => {
      while (done.size < 440) {
        const offered = await own.offer(20);
        const { rows } = await pool.query<{ n: number }>(
          `select count(*)::int as n from syndication_work where has_turn group by customer_id order by n desc limit 1`,
        );
        turnsMax = Math.max(turnsMax, rows[0]?.n ?? 0);
        for (const work of offered) {
          if (random.chance(0.1)) continue;
          if (random.chance(0.3)) await own.rest(work, { afterMs: 0, tried: true });
          else {
            await own.drop(work);
            done.add(work.recordId);
          }
        }
        if (offered.length === 0) await later(20);
      }
    };
    await Promise.all(lists.map(worker));
    expect(done.size).toBe(440);
    expect(turnsMax).toBe(TURNS);
  });

  it('offers again what nobody says anything of, and what rests when its time has come', async () => {
    await wait(1, 1);
    const work = firstOf(await list.offer(1));
    expect(work).toMatchObject({ again: false, attempts: 0, lost: 0 });
    expect(await list.offer(1)).toEqual([]);
    await later(20);
    expect(firstOf(await list.offer(1))).toMatchObject({ recordId: work.recordId, again: true });
    await list.countLost([work]);
    await list.rest(work, { afterMs: 60_000, tried: true, error: 'The agent is busy.' });
    expect((await pool.query('select last_error from syndication_work')).rows).toEqual([
      { last_error: 'The agent is busy.' },
    ]);
    expect(await list.offer(1)).toEqual([]);
    await later(61);
    expect(firstOf(await list.offer(1))).toMatchObject({ again: false, attempts: 1, lost: 0 });
  });

  it('counts jobs that were lost until one ends with a word', async () => {
    await wait(1, 1);
    for (const lost of [0, 1, 2]) {
      const work = firstOf(await list.offer(1));
      expect(work).toMatchObject({ again: lost > 0, lost });
      await list.countLost([work]);
      await later(20);
    }
  });

  it('lets what is done rest until the read model takes it away, and gives its turn to another', async () => {
    await wait(1, TURNS + 1);
    const offered = await list.offer(100);
    await list.rest(firstOf(offered), DONE);
    const next = await list.offer(100);
    expect(next).toHaveLength(1);
    expect(offered.map(({ recordId }) => recordId)).not.toContain(firstOf(next).recordId);
  });

  it('keeps the turn of a record whose earlier generation is under way', async () => {
    await wait(1, TURNS + 1);
    const offered = await list.offer(100);
    await list.rest(firstOf(offered), { afterMs: 0, tried: false, keepsTurn: true });
    const again = await list.offer(100);
    expect(again.map(({ recordId, again: isLost }) => [recordId, isLost])).toEqual([
      [firstOf(offered).recordId, false],
    ]);
  });

  it('says nothing of a later generation, and is due when the queue has forgotten the job if it was archived meanwhile', async () => {
    await wait(1, 1);
    const work = firstOf(await list.offer(1));
    await list.rest({ ...work, generation: 2 }, { afterMs: 0, tried: true });
    expect(await list.offer(1)).toEqual([]);
    await pool.query('update syndication_work set archived = true');
    const { rows: before } = await pool.query<{ now: Date }>('select now()');
    await list.rest(work, DONE);
    const { rows } = await pool.query(
      `select due_at - $1 between make_interval(secs => $2) and '10 s' as "isSoon" from syndication_work`,
      [before[0]?.now, RETRY_MS_MIN / 1_000],
    );
    expect(rows).toEqual([{ isSoon: true }]);
    await later(10);
    expect(firstOf(await list.offer(1))).toMatchObject({ archived: true, again: false });
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

/** As one batch. */
const project = (...events: readonly (readonly [stream: string, type: string, data: JsonObject])[]) => {
  const revisions = new Map<string, number>();
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
  const { rows } = await pool.query<{ record_id: string; archived: boolean }>(
    'select record_id, archived from syndication_work',
  );
  return Object.fromEntries(rows.map(({ record_id, archived }) => [record_id, archived]));
};

describe('what was changed', () => {
  it('is looked at again; a feed that is asked for, or cannot be read, has not changed', async () => {
    const catalog = recordOf({ resourceType: 'CATALOG', resourceId: 'shoes' });
    const stream = catalogStream(7, resourceIdOf(CATALOG, 7, 5, 'shoes'));
    const changes = async () => (await pool.query('select changes from syndication_work')).rows;
    await project(on(catalog));
    await project([stream, 'CatalogFeedAsked', {}], [stream, 'CatalogFeedFailed', {}]);
    expect(await changes()).toEqual([{ changes: 0 }]);
    await project([stream, 'CatalogFeedRead', {}], [stream, 'CatalogFeedFailed', {}]);
    expect(await changes()).toEqual([{ changes: 1 }]);
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
    const { rows } = await pool.query('select count(*)::int as n from syndication_work where archived');
    expect(rows).toEqual([{ n: 20_000 }]);
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
    const kept = await list.kept(web as never, 10);
    expect(kept.map(({ resourceId }) => resourceId)).toEqual(['app', 'web']);
    expect(await list.holders(web as never)).toMatchObject({
      isOtherAdvertisers: false,
      isOtherRegistrations: true,
      isUnsure: false,
    });
    await project(on(recordOf({ agentId: again, advertiserId: 6 })));
    expect(await list.holders(web as never)).toMatchObject({ isOtherAdvertisers: true });
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
    expect(await list.kept(asker as never, 10)).toEqual([
      { advertiserId: 5, resourceId: 'web', stillThere: request, hasFailed: true },
    ]);
    const others = (resourceId: string) =>
      list.holders(recordOf({ agentId, advertiserId: 6, resourceId }) as never);
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
      expect(await list.holders(other as never)).toMatchObject({
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
    expect(await list.offer(10)).toEqual([]);
    await expect(list.kept(web as never, 10)).rejects.toThrow(PostponeJobError);
    await expect(list.holders(web as never)).rejects.toThrow(PostponeJobError);
    await reach('0000000000000009');
    expect(await list.offer(10)).toHaveLength(1);
    expect(await list.kept(web as never, 10)).toHaveLength(1);
    expect(await list.holders(web as never)).toMatchObject({ isOtherAdvertisers: false });
  });
});
