import { randomUUID } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { pino } from 'pino';
import { byStream, foldStream } from '../../projections/engine/fold-streams.ts';
import { UnprojectableEventError, type Projection } from '../../projections/engine/projection.ts';
import type {
  EventStore,
  JsonObject,
  NewEvent,
  RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';

/**
 * A small read model that is easy to check: each stream `toy-<account>-<n>` is a row with the sum of its events' `n`.
 * `toy_effects` counts every applied event without a guard, so it is right only if the engine applies each event
 * exactly once.
 */
export const toyTables = `
  create table toy_rows (
    stream text collate "C" primary key, revision bigint not null, sum bigint not null check (sum >= 0));
  create table toy_effects (events bigint not null);
  insert into toy_effects values (0);`;

export interface Toy extends Projection {
  /** Events with `bad` fail until this is true. */
  fixed: boolean;
  /** Awaited before every batch is applied. */
  before: (events: readonly RecordedEvent[]) => Promise<void>;
}

export const createToy = (name = 'toy'): Toy => {
  const toy: Toy = {
    name,
    categories: ['toy'],
    tables: ['toy_rows'],
    fixed: false,
    before: async () => undefined,
    apply: async (client, events) => {
      await toy.before(events);
      await applyToy(client, events, toy.fixed);
    },
  };
  return toy;
};

const evolve = (sum: number, event: RecordedEvent, fixed: boolean): number => {
  const { bad, n } = event.data;
  if (!fixed && bad === 'unknown') throw new UnprojectableEventError(event, 'unknown event type');
  if (!fixed && bad === 'bug') throw new TypeError("Cannot read properties of undefined (reading 'x')");
  if (!fixed && bad === 'constraint') return -1_000_000;
  return sum + Number(n);
};

const applyToy = async (
  client: ClientBase,
  events: readonly RecordedEvent[],
  fixed: boolean,
): Promise<void> => {
  const streams = byStream(events);
  const known = await client.query<{ stream: string; revision: number; sum: number }>({
    name: 'toy-load',
    text: `select stream, revision::float8 as revision, sum::float8 as sum from toy_rows where stream = any($1)`,
    values: [[...streams.keys()]],
  });
  const before = new Map(known.rows.map((row) => [row.stream, { state: row.sum, revision: row.revision }]));
  const after = [...streams].map(([stream, own]) => ({
    stream,
    ...foldStream(before.get(stream) ?? { state: 0, revision: -1 }, own, (sum, event) =>
      evolve(sum, event, fixed),
    ),
  }));
  await client.query({
    name: 'toy-upsert',
    text: `insert into toy_rows select * from unnest($1::text[], $2::bigint[], $3::bigint[])
           on conflict (stream) do update set revision = excluded.revision, sum = excluded.sum`,
    values: [
      after.map(({ stream }) => stream),
      after.map(({ revision }) => revision),
      after.map(({ state }) => state),
    ],
  });
  await client.query('update toy_effects set events = events + $1', [events.length]);
};

export const silent = pino({ level: 'silent' });

/** With the program's settings for a projector's pool. */
export const projectorPool = (url: string): Pool =>
  createPool({ connectionString: url, applicationName: 'test-projector', max: 4, asyncCommit: true }, silent);

export const toyEvent = (customerId: number, data: JsonObject = { n: 1 }): NewEvent => ({
  id: randomUUID(),
  type: data['bad'] === undefined ? 'Added' : 'Bad',
  data,
  metadata: {
    customerId,
    actor: 'test',
    requestId: 'r',
    correlationId: 'c',
    causationId: 'c',
    occurredAt: '2025-01-01T00:00:00.000Z',
    schemaVersion: 1,
  },
});

export const toyStream = (customerId: number, n: number): string => `toy-${customerId}-${n}`;

/** Appends one event to each of `streams` streams of one account, `rounds` times. @returns the number of events */
export const appendToys = async (
  store: EventStore,
  { streams, rounds = 1, customerId = 1 }: { streams: number; rounds?: number; customerId?: number },
): Promise<number> => {
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(
      Array.from({ length: streams }, (_, n) =>
        store.append(toyStream(customerId, n), [toyEvent(customerId)], 'any'),
      ),
    );
  }
  return streams * rounds;
};
