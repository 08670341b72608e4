import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createAdvertiser } from '../../command/advertisers/commands.ts';
import { advertiserEvents } from '../../domain/advertisers/events.ts';
import { advertiserAggregate, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { advertisersProjection } from '../../projections/advertisers.ts';
import { openCheckpoint } from '../../projections/engine/checkpoint.ts';
import { commitBatch } from '../../projections/engine/commit-batch.ts';
import { toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import type { Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { silent } from '../support/toy-projection.ts';

const readModels = useReadModelDatabase();
const CUSTOMER = 1;
const positionOf = (n: number): Position => String(n).padStart(16, '0') as Position;
const timeOf = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 7).toISOString();

const created = (id: number): RecordedEvent => {
  const commandId = randomUUID();
  const body = { name: `Advertiser ${id}`, brandCountries: ['US'], sandbox: id % 5 === 0 };
  const command = createAdvertiser(
    body,
    { advertiserId: id, customerId: CUSTOMER },
    { commandId, now: timeOf(id) },
  );
  const decision = advertiserAggregate.decide(command, advertiserAggregate.initialState);
  if (!('events' in decision)) throw new Error('refused');
  const context = { commandId, customerId: CUSTOMER, actor: 'test', requestId: commandId };
  const [event] = toNewEvents(decision.events, context, advertiserEvents);
  if (event === undefined) throw new Error('no event');
  const stream = advertiserStream(CUSTOMER, id);
  return { ...event, stream, revision: 0, position: positionOf(id), recordedAt: timeOf(id) };
};

const archived = (id: number, position: number): RecordedEvent => {
  const { metadata, stream } = created(id);
  const at = { ...metadata, occurredAt: timeOf(position) };
  return {
    id: randomUUID(),
    type: 'AdvertiserArchived',
    data: {},
    metadata: at,
    stream,
    revision: 1,
    position: positionOf(position),
    recordedAt: timeOf(position),
  };
};

/** As the live runner commits them. */
const commit = async (events: readonly RecordedEvent[], pool: Pool = readModels.pool) => {
  const checkpoint = await openCheckpoint(pool, 'advertisers');
  const position = events.at(-1)?.position ?? checkpoint.position;
  return commitBatch(pool, advertisersProjection, checkpoint, { events, position, caughtUp: true });
};

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** Ids and counts. */
const readModel = async () => {
  const { pool } = readModels;
  const rows = await pool.query<{ id: number }>('select id from advertisers order by id');
  const counts = await pool.query<{ kind: string; count: number }>(
    `select status || '/' || sandbox as kind, count::int from advertiser_counts where count <> 0 order by 1`,
  );
  return { ids: rows.rows.map(({ id }) => id), counts: counts.rows };
};

const wanted = (active: number, sandbox: number, archivedOnes: readonly string[] = []) => [
  { kind: 'ACTIVE/false', count: active - sandbox },
  { kind: 'ACTIVE/true', count: sandbox },
  ...archivedOnes.map((kind) => ({ kind, count: 1 })),
];

beforeEach(async () => {
  await readModels.pool.query(
    'truncate advertisers, advertiser_counts, parked_streams, projection_checkpoints',
  );
});

it('new advertisers, some archived in the same batch, give the right rows and counts', async () => {
  await commit(range(1, 900).map(created));
  await commit([...range(901, 7_000).map(created), archived(1_000, 7_001), archived(3, 7_002)]);
  const { ids, counts } = await readModel();
  expect(ids).toEqual(range(1, 7_000));
  expect(counts).toEqual(wanted(6_998, 1_399, ['ARCHIVED/false', 'ARCHIVED/true']));
});

it('a redelivered event is written and counted once', async () => {
  await commit(range(1, 150).map(created));
  // The checkpoint is before the redelivered event, so only the rows show that it was applied.
  await readModels.pool.query(`update projection_checkpoints set position = '-'`);
  await commit(range(100, 400).map(created));
  const { ids, counts } = await readModel();
  expect(ids).toEqual(range(1, 400));
  expect(counts).toEqual(wanted(400, 80));
});

it('of a redelivered batch, known streams that go on and new ones are written and counted once', async () => {
  const archivedOnce = archived(7, 902);
  await commit([...range(1, 900).map(created), archivedOnce]);
  await readModels.pool.query(`update projection_checkpoints set position = '-'`);
  const { parked } = await commit([...range(1, 1_600).map(created), archivedOnce, archived(8, 1_601)]);
  expect(parked).toEqual([]);
  const { ids, counts } = await readModel();
  expect(ids).toEqual(range(1, 1_600));
  expect(counts).toEqual([...wanted(1_598, 320), { kind: 'ARCHIVED/false', count: 2 }]);
  const rows = await readModels.pool.query(
    `select id from advertisers where status = 'ARCHIVED' and revision = 1`,
  );
  expect(rows.rows).toEqual([{ id: 7 }, { id: 8 }]);
});

it('rows can be written if the policies also apply to the writer', async () => {
  const { pool } = readModels;
  // `isolateTenants` applies this if requests cannot have their own role.
  await pool.query(
    `create policy system on advertisers to current_user using (current_setting('app.access', true) = 'system');
     alter table advertisers force row level security`,
  );
  const bound = createPool(
    {
      connectionString: String(pool.options.connectionString),
      applicationName: 'test',
      max: 1,
      system: true,
    },
    silent,
  );
  try {
    await commit(range(1, 300).map(created), bound);
    await commit([archived(5, 301), created(302)], bound);
  } finally {
    await bound.end();
    await pool.query(
      'alter table advertisers no force row level security; drop policy system on advertisers',
    );
  }
  const { ids, counts } = await readModel();
  expect(ids).toEqual([...range(1, 300), 302]);
  expect(counts).toEqual(wanted(300, 59, ['ARCHIVED/true']));
});

it('only the failing stream of a large batch is parked', async () => {
  const bad = { ...created(120), data: { nothing: 'like it' } };
  const { applied, parked } = await commit([
    ...range(1, 119).map(created),
    bad,
    ...range(121, 300).map(created),
  ]);
  expect(applied).toBe(299);
  expect(parked.map(({ event }) => event.stream)).toEqual([bad.stream]);
  const { ids, counts } = await readModel();
  expect(ids).toEqual(range(1, 300).filter((id) => id !== 120));
  expect(counts).toEqual(wanted(299, 59));
});
