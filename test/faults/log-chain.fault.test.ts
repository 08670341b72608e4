import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { START, type EventStore, type Position } from '../../src/shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../src/shared/event-store/memory-event-store.ts';
import { lastCheckpoint } from '../../src/shared/log-chain/checkpoints.ts';
import { portLogBytes, postgresLogBytes, type LogBytes } from '../../src/shared/log-chain/log-bytes.ts';
import { logKeysOf, type LogKeys } from '../../src/shared/log-chain/log-keys.ts';
import { sealLog, sealRegularly, witnessOf } from '../../src/shared/log-chain/seal-log.ts';
import { verifyLog, type VerifyOptions } from '../../src/shared/log-chain/verify-log.ts';
import { createLog } from '../../src/shared/log.ts';
import { createPool } from '../../src/shared/postgres/pool.ts';
import { parseKeyRing } from '../../src/shared/secrets/key-ring.ts';
import { sampleEvent } from '../contract/sample-events.ts';
import { amount } from '../support/amount.ts';
import { exchange } from '../support/program.ts';
import { fillWithHistory } from '../support/sample-history.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { openPostgresStore } from '../contract/make-postgres-store.ts';
import { createRandom } from './kit/random.ts';

const EVENTS = amount(2_500, 20_000);
const MANY = amount(0, 1_000_000);
const SEED = Number(process.env['FAULT_SEED'] ?? 1);

const seed = (): string => randomBytes(32).toString('base64url');
const [first, second] = [seed(), seed()];
const oneKey = logKeysOf({ LOG_SIGNING_KEYS: parseKeyRing(`2026:${first}`) });
const unsigned = logKeysOf({});

let database: TestDatabase;
let pool: ReturnType<typeof createPool>;
let log: LogBytes;
let store: EventStore;
let closeStore: () => Promise<void>;
let events: number;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connectionString: database.url, applicationName: 'test', max: 4 }, createLog('silent'));
  log = postgresLogBytes(pool);
  const opened = openPostgresStore(database.url);
  ({ store } = opened);
  closeStore = () => opened.close();
  await fillWithHistory(store, EVENTS);
  await statement('create table kept as select * from events');
  events = await count();
}, 600_000);
afterAll(async () => {
  await closeStore();
  await pool.end();
  await database.drop();
});

/** On a connection without the service's timeouts and plans. */
const statement = async <T extends object>(sql: string, values: unknown[] = []): Promise<readonly T[]> => {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<T>(sql, values)).rows;
  } finally {
    await client.end();
  }
};

const count = async (): Promise<number> =>
  (await statement<{ n: number }>('select count(*)::int as n from events'))[0]?.n ?? 0;

/** @returns the last checkpoint */
const seal = async (keys: LogKeys = oneKey, of: LogBytes = log) => {
  let last;
  for await (const checkpoint of sealLog({ pool, log: of, keys })) last = checkpoint;
  return last;
};

const verify = (more: Partial<VerifyOptions> = {}) => verifyLog({ pool, log, keys: oneKey, ...more });

const at = (position: number): Position => String(position).padStart(16, '0') as Position;

const broken = async (more: Partial<VerifyOptions> = {}): Promise<readonly [number, string]> => {
  const { broken: found } = await verify(more);
  return [Number(found?.position), found?.problem ?? 'nothing'];
};

const restore = (): Promise<unknown> =>
  statement('truncate events, log_checkpoints; insert into events select * from kept');

describe('a log that was sealed and signed', () => {
  beforeEach(async () => void (await seal()));
  afterEach(restore);

  it('is as it was, whole and in part, and what is behind the seal is taken in by the next one', async () => {
    const whole = await verify();
    expect(whole).toMatchObject({ events, from: at(1), to: at(events), broken: undefined });
    expect(whole.signed).toBe(whole.checkpoints);
    const part = await verify({ from: at(1_500), to: at(1_600) });
    expect(part).toMatchObject({ events: 1_000, from: at(1_001), to: at(2_000), broken: undefined });

    await store.append('sample-later', [sampleEvent(), sampleEvent()], 'no-stream');
    expect((await verify()).events).toBe(events);
    await seal();
    expect((await verify()).events).toBe(events + 2);
  });

  const columns: readonly (readonly [string, string])[] = [
    ['stream', `stream = overlay(stream placing 'x' from 3 for 1)`],
    ['revision', 'revision = revision + 1000000'],
    [
      'id',
      `id = (overlay(id::text placing case when substr(id::text, 12, 1) = '0' then '1' else '0' end from 12 for 1))::uuid`,
    ],
    ['type', `type = overlay(type placing 'x' from 2 for 1)`],
    ['data', `data = overlay(data placing chr(ascii(substr(data, 7, 1)) # 1) from 7 for 1)`],
    ['data, white space that no reader sees', `data = data || ' '`],
    ['metadata', `metadata = replace(metadata, '"schemaVersion":1', '"schemaVersion":3')`],
    ['recorded_at, a microsecond', `recorded_at = recorded_at + interval '1 microsecond'`],
  ];
  it.each(columns)('one byte of %s, anywhere: the position is named', async (_, change) => {
    const position = createRandom(SEED + change.length).below(events) + 1;
    await statement(`update events set ${change} where position = $1`, [position]);
    expect(await broken()).toEqual([position, 'the event is not the one that was sealed here']);
    // Elsewhere all is well.
    const elsewhere = position > 1_000 ? { to: at(1_000) } : { from: at(1_001) };
    expect((await verify(elsewhere)).broken).toBeUndefined();
  });

  it('an event that was removed, two that were exchanged, one that was put in between, an end that was cut off', async () => {
    const position = 2 + createRandom(SEED).below(events - 2);
    await statement('delete from events where position = $1', [position]);
    expect(await broken()).toEqual([position, 'the event is missing']);
    await statement('truncate events; insert into events select * from kept');

    await statement(`update events set position = -position where position in ($1, $2)`, [
      position - 1,
      position,
    ]);
    await statement(`update events set position = $1::bigint + $2 + position where position < 0`, [
      position - 1,
      position,
    ]);
    expect((await broken())[0]).toBe(position - 1);
    await statement('truncate events; insert into events select * from kept');

    await statement(`update events set position = -position where position >= ${position}`);
    await statement(`update events set position = 1 - position where position < 0`);
    await statement(
      `insert into events select ${position}, 'sample-put-in', 0, gen_random_uuid(), type, data, metadata, recorded_at
       from kept where position = 1`,
    );
    expect(await broken()).toEqual([position, 'the event is not the one that was sealed here']);
    await statement('truncate events; insert into events select * from kept');

    await statement(`delete from events where position > ${events - 7}`);
    expect(await broken()).toEqual([events - 6, expect.stringContaining('the log ends at')]);
  });

  it('forged: an event changed and everything behind it sealed anew, by whoever can write to the database', async () => {
    const last = await lastCheckpoint(pool);
    if (last === undefined) throw new Error('nothing is sealed');
    const witness = witnessOf(last);
    const forge = async (keys: LogKeys): Promise<void> => {
      await statement(`update events set data = data || ' ' where position = 1500`);
      await statement('delete from log_checkpoints where number >= 2');
      await seal(keys);
    };
    await forge(unsigned);
    expect((await broken())[1]).toContain('not signed with a key of the settings');
    // Without a key to check with it cannot be told; with what was written down elsewhere it can.
    expect((await verify({ keys: unsigned })).broken).toBeUndefined();
    const expected = { position: witness.position, hash: witness.hash };
    expect((await broken({ keys: unsigned, expected }))[1]).toContain('another hash');
    await statement(`delete from events where position > 2000`);
    await statement(`delete from log_checkpoints where last > '${at(2_000)}'`);
    expect((await broken({ keys: unsigned, expected }))[1]).toContain('no checkpoint ends at');

    await restore();
    await seal();
    await forge(forgedKey);
    expect((await broken())[1]).toContain('was forged');
  });

  it('a checkpoint that was changed or removed', async () => {
    await statement(`update log_checkpoints set hash = sha256(hash) where number = 2`);
    expect((await broken())[1]).toContain('was forged');
    expect((await broken({ keys: unsigned }))[1]).toContain('its hash is not that of its events');
    await statement(`delete from log_checkpoints where number = 2`);
    expect((await broken())[1]).toContain('checkpoint 2 is missing');
  });
});

/** Another key under the same name, as a forger would use it; the settings know better. */
const forgedKey: LogKeys = {
  ...logKeysOf({ LOG_SIGNING_KEYS: parseKeyRing(`2026:${second}`) }),
  current: undefined,
};

it('keys are replaced: what the old one signed stays good, and what was unsigned is vouched for by what is signed behind it', async () => {
  await restore();
  await statement('truncate log_keys');
  await statement('delete from events where position > 1200');
  await seal(unsigned);
  await statement('insert into events select * from kept where position between 1201 and 1300');
  await seal(oneKey);
  await statement('insert into events select * from kept where position > 1300');
  const both = logKeysOf({ LOG_SIGNING_KEYS: parseKeyRing(`2027:${second},2026:${first}`) });
  await seal(both);
  expect((await verify({ keys: both })).broken).toBeUndefined();
  // Its public key is enough; without it the newer signature vouches for all before it.
  const { stdout } = await exchange(['log', 'keys'], { DATABASE_URL: database.url });
  const [oldKey = ''] = stdout.split('\n');
  expect(oldKey).toMatch(/^2026:[\w-]{43}$/);
  const keys = { LOG_SIGNING_KEYS: parseKeyRing(`2027:${second}`), LOG_VERIFY_KEYS: parseKeyRing(oldKey) };
  const checked = await verify({ keys: logKeysOf(keys) });
  expect([checked.broken, checked.signed]).toEqual([undefined, checked.checkpoints - 2]);
  expect(
    (await verify({ keys: logKeysOf({ LOG_SIGNING_KEYS: keys.LOG_SIGNING_KEYS }) })).broken,
  ).toBeUndefined();
  await expect(seal(forgedName)).rejects.toThrow('another key was named 2026');
});

const forgedName = logKeysOf({ LOG_SIGNING_KEYS: parseKeyRing(`2026:${second}`) });

it('exchange log: sealed and verified beside the service, broken is 1, nothing to verify is 2', async () => {
  await restore();
  const environment = { DATABASE_URL: database.url, LOG_SIGNING_KEYS: `2026:${first}` };
  const nothing = await exchange(['log', 'verify'], environment);
  expect([nothing.status, nothing.stderr]).toEqual([2, expect.stringContaining('nothing is sealed yet')]);
  const sealed = await exchange(['log', 'seal', '--json'], environment);
  expect(JSON.parse(sealed.stdout)).toMatchObject({ sealed: events, checkpoint: { key: '2026' } });
  expect((await exchange(['log', 'verify', '--from', '10', '--to', '20'], environment)).status).toBe(0);
  await statement(`update events set type = 'Other' where position = 700`);
  const { status, stdout } = await exchange(['log', 'verify', '--json'], environment);
  expect([status, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ broken: expect.anything() })]);
  expect((JSON.parse(stdout) as { broken: { position: string } }).broken.position).toBe(at(700));
});

it('two processes that seal regularly make one chain; another store begins another one', async () => {
  await restore();
  const ending = new AbortController();
  const options = { pool, log, keys: oneKey, signal: ending.signal };
  for (const every of [5, 7]) sealRegularly(options, every, createLog('silent'));
  while ((await verify().catch(() => undefined))?.events !== events)
    await new Promise((done) => setTimeout(done, 20));
  ending.abort();
  expect((await verify()).broken).toBeUndefined();

  const memory = createMemoryEventStore();
  await fillWithHistory(memory, 300);
  const other = portLogBytes(memory, 'memory-1');
  await expect(seal(oneKey, other)).rejects.toThrow('--new-chain');
  await statement('truncate log_checkpoints');
  await seal(oneKey, other);
  expect((await verify({ log: other })).broken).toBeUndefined();
  const changed = portLogBytes(
    {
      readAll: async (asked) =>
        (await memory.readAll(asked)).map((event) =>
          event.position === at(77) ? { ...event, data: { ...event.data, n: -1 } } : event,
        ),
    },
    'memory-1',
  );
  expect((await broken({ log: changed }))[0]).toBe(77);
});

(MANY === 0 ? it.skip : it)(
  'of a million events, one byte',
  async () => {
    await restore();
    await statement(
      `insert into events select $1 + n, 'many-' || n, 0, gen_random_uuid(), k.type, k.data, k.metadata, k.recorded_at
     from generate_series(1, $2) n join kept k on k.position = 1 + n % $1`,
      [events, MANY],
    );
    const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
      const beganMs = performance.now();
      const result = await work();
      console.log(`${what}: ${Math.round((MANY * 1_000) / (performance.now() - beganMs))} events/s`);
      return result;
    };
    await timed('sealed', () => seal());
    expect((await timed('verified', () => verify())).broken).toBeUndefined();
    await timed('read as objects', async () => {
      for (let after = START; ;) {
        const last = (await store.readAll({ after, limit: 5_000 })).at(-1);
        if (last === undefined) return;
        after = last.position;
      }
    });
    await statement(
      `update events set data = overlay(data placing '9' from 6 for 1) where position = 765432`,
    );
    expect((await broken())[0]).toBe(765_432);
  },
  3_600_000,
);
