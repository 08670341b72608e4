import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from '@jest/globals';
import { SYNDICATION } from '../../src/domain/syndication/syndication.ts';
import { advertiserBlocks } from '../../src/projections/advertiser-rows.ts';
import { advertisersProjection } from '../../src/projections/advertisers.ts';
import { openCheckpoint } from '../../src/projections/engine/checkpoint.ts';
import { judgeBlocksSql } from '../../src/projections/engine/blocks/compare-blocks.ts';
import { fillBlocks } from '../../src/projections/engine/blocks/fill-blocks.ts';
import type { ListBlocks } from '../../src/projections/engine/blocks/list-blocks.ts';
import { makeBlocks } from '../../src/projections/engine/blocks/make-blocks.ts';
import { syndicationBlocks, syndicationProjection } from '../../src/projections/syndication.ts';
import { listAdvertisersQuery, type ListFilters } from '../../src/query/advertisers/list-advertisers.ts';
import { listRecords, type RecordFilters } from '../../src/query/syndication/list-records.ts';
import type { JsonObject, Position, RecordedEvent } from '../../src/shared/event-store/event-store.ts';
import { inTransaction } from '../../src/shared/postgres/pool.ts';
import { createProjectionProgress } from '../../src/shared/read-your-writes/projection-progress.ts';
import { createRandom } from '../faults/kit/random.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { nodesOf, type PlanNode } from '../support/plan-nodes.ts';

/** Lists long enough that their middle is found by blocks: as projections keep them, and as requests read them. */

const readModels = useReadModelDatabase();

const astray = async (blocks: ListBlocks): Promise<readonly unknown[]> => {
  const { rows } = await readModels.pool.query(
    `select * from (${judgeBlocksSql(blocks, blocks.table, blocks.rows)}) b where astray > 0`,
  );
  return rows;
};

const RECORDS = 3_000;
const AGENTS = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
const records = Array.from({ length: RECORDS }, (_, n) => ({
  recordId: randomUUID(),
  customerId: 7,
  advertiserId: 5,
  resourceType: n % 50 === 0 ? 'CATALOG' : 'EVENT_SOURCE',
  resourceId: `r-${n}`,
  agentId: AGENTS[n % 3] as string,
  account: { account_id: 'acct' },
}));
type Placed = (typeof records)[number];

const START_MS = Date.parse('2026-01-01T00:00:00Z');
const random = createRandom(5);
const revisions = new Map<string, number>();

/** The clocks of several nodes: they differ by some seconds. */
const eventOf = (n: number, record: Placed, type: string, data: JsonObject): RecordedEvent => {
  const stream = `${SYNDICATION}-${record.customerId}-${record.recordId}`;
  const revision = (revisions.get(stream) ?? -1) + 1;
  revisions.set(stream, revision);
  const at = new Date(START_MS + n * 5 + Math.floor(random.next() * 3_000)).toISOString();
  const who = { customerId: 7, actor: 'test', requestId: 'r', correlationId: 'r', causationId: 'r' };
  return {
    id: randomUUID(),
    stream,
    type,
    data,
    metadata: { ...who, occurredAt: at, schemaVersion: 1 },
    revision,
    position: String(n).padStart(16, '0') as Position,
    recordedAt: at,
  };
};

/** All are switched on, most are started, many are completed, some are switched off again: in any order. */
const history = (): readonly RecordedEvent[] => {
  const events: RecordedEvent[] = [];
  const add = (record: Placed, type: string, data: JsonObject): void => {
    events.push(eventOf(events.length + 1, record, type, data));
  };
  for (const record of records) {
    add(record, 'SyndicationToggled', { ...record, enabled: true, generation: 1 });
  }
  const someOf = (part: number): readonly Placed[] => records.filter(() => random.next() < part);
  const started = someOf(0.8);
  for (const record of started) add(record, 'SyndicationStarted', { generation: 1, request: {} });
  const completed = started.filter(() => random.next() < 0.7);
  for (const record of completed) add(record, 'SyndicationCompleted', { generation: 1, responseData: {} });
  for (const record of completed.filter(() => random.next() < 0.1)) {
    add(record, 'SyndicationToggled', { ...record, enabled: false, generation: 2 });
  }
  return events;
};

const BATCH = 700;

beforeAll(async () => {
  const { pool } = readModels;
  await pool.query(
    `insert into advertisers (customer_id, id, revision, status, sandbox, name, created_at, body)
     values (7, 5, 0, 'ACTIVE', false, 'Acme', now(), '{}')`,
  );
  await openCheckpoint(pool, 'syndication');
  const events = history();
  for (let from = 0; from < events.length; from += BATCH) {
    // Every batch is delivered twice, and begins before the last one ended.
    const batch = events.slice(Math.max(0, from - 50), from + BATCH);
    for (const some of [batch, batch]) {
      await inTransaction(pool, (client) => syndicationProjection.apply(client, some));
    }
  }
  expect(await astray(syndicationBlocks)).toEqual([]);
  // Small ones, so that there are many, as in a list that is much longer.
  await inTransaction(pool, (client) => fillBlocks(client, { ...syndicationBlocks, rowsMax: 256 }));
}, 120_000);

const ids = async (where: string): Promise<readonly string[]> => {
  const { rows } = await readModels.pool.query<{ id: string }>(
    `select id from syndication_records where customer_id = 7 and ${where} order by updated_at desc, id desc`,
  );
  return rows.map(({ id }) => id);
};

it.each<readonly [string, RecordFilters]>([
  ['true', {}],
  [`status <> 'DISABLED'`, { enabled: true }],
  [`status = 'COMPLETED'`, { status: 'COMPLETED' }],
  [`resource_type = 'EVENT_SOURCE'`, { resourceType: 'EVENT_SOURCE' }],
  [`agent_id = '${AGENTS[1]}' and status <> 'DISABLED'`, { agentId: AGENTS[1], enabled: true }],
])('records, %s: pages all along the list', async (where, filters) => {
  const wanted = await ids(where);
  const reads = { database: readModels.tenant, progress: createProjectionProgress() };
  expect(await astray(syndicationBlocks)).toEqual([]);
  for (let skip = 0; skip < wanted.length + 50; skip += 97) {
    const page = await listRecords(reads, 7, 5, filters, { skip, take: 50 });
    expect({ skip, total: page?.total, ids: page?.records.map(({ recordId }) => recordId) }).toEqual({
      skip,
      total: wanted.length,
      ids: wanted.slice(skip, skip + 50),
    });
  }
});

const ADVERTISERS = 15_000;
const bodies = async (filters: ListFilters, skip: number): Promise<readonly string[]> => {
  const { text, values } = listAdvertisersQuery(1, filters, { skip, take: 50 });
  const { rows } = await readModels.pool.query<{ items: string }>(text, [...values]);
  return (rows[0]?.items ?? '').split(',');
};
const MIDDLE = ADVERTISERS / 2 - 100;
const inTheMiddle = Array.from({ length: 50 }, (_, n) => String(ADVERTISERS - MIDDLE - n));

const recount = async (): Promise<void> => {
  await readModels.pool.query('truncate advertiser_counts');
  await readModels.pool.query(
    `insert into advertiser_counts select customer_id, status, sandbox, count(*) from advertisers group by 1, 2, 3`,
  );
};

it('rows that were written by a program without blocks: pages are counted up to until they are made', async () => {
  const { pool } = readModels;
  // As it leaves them: the checkpoint moves, and what is new with blocks stays as it is.
  await pool.query(
    `insert into advertisers (customer_id, id, revision, status, sandbox, name, created_at, body)
     select 1, n, 0, case when n % 3 = 0 then 'ARCHIVED' else 'ACTIVE' end, n % 5 = 0, 'Name ' || n,
       timestamptz '2026-01-01' + n / 7 * interval '1 second', n::text from generate_series(1, $1::int) n`,
    [ADVERTISERS],
  );
  await recount();
  await openCheckpoint(pool, 'advertisers');
  await pool.query(`update projection_checkpoints set position = '7' where name = 'advertisers'`);
  expect(await bodies({ status: 'ALL' }, MIDDLE)).toEqual(inTheMiddle);

  const old = await openCheckpoint(pool, 'advertisers');
  expect(old.hasBlocks).toBe(false);
  expect((await makeBlocks(pool, advertisersProjection, old)).hasBlocks).toBe(true);
  expect((await openCheckpoint(pool, 'advertisers')).hasBlocks).toBe(true);
  expect(await astray(advertiserBlocks)).toEqual([]);
  expect(await bodies({ status: 'ALL' }, MIDDLE)).toEqual(inTheMiddle);
  // It comes back, and changes rows.
  await pool.query(`delete from advertisers where customer_id = 1 and id = $1`, [inTheMiddle[0]]);
  await recount();
  await pool.query(`update projection_checkpoints set position = '8' where name = 'advertisers'`);
  expect((await openCheckpoint(pool, 'advertisers')).hasBlocks).toBe(false);
  expect(await bodies({ status: 'ALL' }, MIDDLE)).toEqual([
    ...inTheMiddle.slice(1),
    String(Number(inTheMiddle.at(-1)) - 1),
  ]);
});

it.each<ListFilters>([
  { status: 'ALL' },
  { status: 'ACTIVE' },
  { status: 'ACTIVE', sandbox: false },
  { status: 'ALL', sandbox: false },
])('advertisers, %j: a page in the middle reads one block of rows, by an index', async (filters) => {
  const { pool } = readModels;
  await makeBlocks(pool, advertisersProjection, await openCheckpoint(pool, 'advertisers'));
  const { rows: wanted } = await pool.query<{ body: string }>(
    `select body from advertisers where customer_id = 1 and ($1 = 'ALL' or status = $1)
       and ($2::boolean is null or sandbox = $2) order by created_at desc, id desc`,
    [filters.status, filters.sandbox],
  );
  for (let skip = 1_001; skip < wanted.length; skip += 487) {
    expect(await bodies(filters, skip)).toEqual(wanted.slice(skip, skip + 50).map(({ body }) => body));
  }
  const { text, values } = listAdvertisersQuery(1, filters, {
    skip: Math.floor(wanted.length / 2),
    take: 50,
  });
  const { rows: plan } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, timing off, format json) ${text}`,
    [...values],
  );
  const nodes = nodesOf(plan[0]?.['QUERY PLAN'][0].Plan);
  expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  const read = nodes
    .filter((node) => node['Relation Name'] === 'advertisers')
    .reduce((sum, node) => {
      return sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
    }, 0);
  // A block is of 2,048 rows here; with a filter without an index they are read to find those that fit. And the page twice.
  expect(read).toBeLessThan(2_048 + 1_000);
});
