import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Client } from 'pg';
import { Registry } from 'prom-client';
import { systemClock } from '../../shared/async/clock.ts';
import {
  EventStoreUnavailableError,
  START,
  type EventStore,
  type Position,
} from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import type { SealRequest } from '../../shared/log-chain/chain-end.ts';
import { lastCheckpoint } from '../../shared/log-chain/checkpoints.ts';
import { portLogBytes, postgresLogBytes, type LogBytes } from '../../shared/log-chain/log-bytes.ts';
import { logKeysOf, type LogKeys } from '../../shared/log-chain/log-keys.ts';
import { sealLog, witnessOf } from '../../shared/log-chain/seal-log.ts';
import { registerSealMetrics } from '../../shared/log-chain/seal-metrics.ts';
import { sealRegularly } from '../../shared/log-chain/seal-regularly.ts';
import { verifyLog, type VerifyOptions } from '../../shared/log-chain/verify-log.ts';
import { createLog } from '../../app/log.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { sampleEvent } from '../contract/sample-events.ts';
import { amount } from '../support/amount.ts';
import { exchange } from '../support/program.ts';
import { fillWithHistory } from '../support/sample-history.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { openPostgresStore } from '../contract/make-postgres-store.ts';
import { createRandom } from './kit/random.ts';

const EVENTS = amount(2_500, 20_000);
const MANY = amount(10_000, 1_000_000);
/** In each tenth of the large log, one byte of each kind is changed. */
const TENTHS = amount(1, 10);
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

/** Runs on a connection without the service's timeouts and plans. */
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
const seal = async (keys: LogKeys = oneKey, of: LogBytes = log, how: SealRequest = {}) => {
  let last;
  for await (const checkpoint of sealLog({ pool, log: of, keys, clock: systemClock }, how)) last = checkpoint;
  return last;
};

const verify = (more: Partial<VerifyOptions> = {}) => verifyLog({ pool, log, keys: oneKey, ...more });

const at = (position: number): Position => String(position).padStart(16, '0') as Position;

const broken = async (more: Partial<VerifyOptions> = {}): Promise<readonly [number, string]> => {
  const { broken: found } = await verify(more);
  return [Number(found?.position), found?.problem ?? 'nothing'];
};

const restore = (): Promise<unknown> =>
  statement('truncate events, log_checkpoints, log_keys; insert into events select * from kept');

/** ReferencedStores the log up to a position. `grow` restores the rest. */
const cutTo = (position: number): Promise<unknown> =>
  statement(`delete from events where position > ${position}`);
const grow = (to = events): Promise<unknown> =>
  statement(
    `insert into events select * from kept
     where position > (select coalesce(max(position), 0) from events) and position <= ${to}`,
  );

/** A forger who can write to the database, but has no private key. */
const forgerOf = (sign: LogKeys['sign']): LogKeys => ({
  sign,
  check: () => 'valid',
  canProve: true,
  current: { keyId: 'forger', publicKey: Buffer.alloc(32) },
});
const unsignedForger = forgerOf(() => undefined);

/** Changes one byte of a column, so that the row is still a plausible event. */
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

describe('a sealed and signed log', () => {
  beforeEach(async () => void (await seal()));
  afterEach(restore);

  it('verifies whole and in part, and the next seal includes later events', async () => {
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

  it.each(columns)('one changed byte of %s at any position: the position is named', async (_, change) => {
    const position = createRandom(SEED + change.length).below(events) + 1;
    await statement(`update events set ${change} where position = $1`, [position]);
    expect(await broken()).toEqual([position, 'the event is not the one that was sealed here']);
    // The rest of the log still verifies.
    const elsewhere = position > 1_000 ? { to: at(1_000) } : { from: at(1_001) };
    expect((await verify(elsewhere)).broken).toBeUndefined();
  });

  it('a removed event, two exchanged events, an inserted event, a cut end', async () => {
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

  it('forged: a changed event and all later checkpoints sealed again by a writer of the database', async () => {
    const last = await lastCheckpoint(pool);
    if (last === undefined) throw new Error('nothing is sealed');
    const witness = witnessOf(last);
    const forge = async (keys: LogKeys): Promise<void> => {
      await statement(`update events set data = data || ' ' where position = 1500`);
      await statement('delete from log_checkpoints where number >= 2');
      await seal(keys);
    };
    await forge(unsignedForger);
    expect((await broken())[1]).toContain('has no signature');
    // Also if a signed checkpoint follows, and also without a key to verify with.
    await store.append('sample-later', [sampleEvent()], 'no-stream');
    await seal(forgerOf(oneKey.sign));
    expect((await broken())[1]).toContain('but an earlier checkpoint has one');
    expect((await broken({ keys: unsigned }))[1]).toContain('but an earlier checkpoint has one');
    await statement('update log_checkpoints set key_id = null, signature = null');
    // Without a key the forgery cannot be detected. A checkpoint noted elsewhere detects it.
    expect((await verify({ keys: unsigned })).broken).toBeUndefined();
    const expected = { position: witness.position, hash: witness.hash };
    expect((await broken({ keys: unsigned, expected }))[1]).toContain('another hash');
    await cutTo(2_000);
    await statement(`delete from log_checkpoints where last > '${at(2_000)}'`);
    expect((await broken({ keys: unsigned, expected }))[1]).toContain('no checkpoint ends at');

    await restore();
    await seal();
    await forge(forgerOf(logKeysOf({ LOG_SIGNING_KEYS: parseKeyRing(`2026:${second}`) }).sign));
    expect((await broken())[1]).toContain('was forged');
  });

  it('a cut end of both log and chain is detected only by a checkpoint noted elsewhere, for any end of the range', async () => {
    const whole = await lastCheckpoint(pool);
    const ofMiddle = await statement<{ hash: string }>(
      `select encode(hash, 'hex') as hash from log_checkpoints where number = 1`,
    );
    if (whole === undefined) throw new Error('nothing is sealed');
    const expected = { position: whole.last, hash: whole.hash.toString('hex') };
    const ofFirst = { position: at(1_000), hash: ofMiddle[0]?.hash ?? '' };
    expect(await verify({ expected })).toMatchObject({ witnessed: true, broken: undefined, doubts: [] });
    // Compares both the checkpoint before the range and the one at its end.
    expect(await verify({ from: at(1_500), expected: ofFirst })).toMatchObject({ witnessed: true });
    const other = { ...ofFirst, hash: '0'.repeat(64) };
    expect((await broken({ from: at(1_500), expected: other }))[1]).toContain('another hash');
    expect((await broken({ to: at(900), expected: other }))[1]).toContain('another hash');
    const missing = { ...ofFirst, position: at(700) };
    expect((await broken({ to: at(1_000), expected: missing }))[1]).toContain('no checkpoint ends at');
    await expect(verify({ to: at(900), expected })).rejects.toThrow('outside');
    await expect(verify({ from: at(2_001), expected: ofFirst })).rejects.toThrow('outside');

    await cutTo(2_000);
    await statement('delete from log_checkpoints where number > 2');
    expect(await verify()).toMatchObject({ witnessed: false, broken: undefined, doubts: [] });
    expect((await broken({ expected }))[1]).toContain('no checkpoint ends at');
    expect((await broken({ to: at(events), expected }))[1]).toContain('no checkpoint ends at');
  });

  it('an unsealed range or an invalid position is not verified', async () => {
    const [beyond, nothing] = [{ to: at(events + 1) }, { from: at(events + 1) }];
    expect(await verify(beyond)).toMatchObject({
      events,
      broken: undefined,
      doubts: [expect.stringContaining('are not sealed')],
    });
    await expect(verify(nothing)).rejects.toThrow('nothing is sealed at');
    await expect(verify({ from: at(20), to: at(10) })).rejects.toThrow('is after --to');
    await expect(verify({ to: 'first' as Position })).rejects.toThrow('not a position of this log');
    await expect(verify({ from: at(0) })).rejects.toThrow('not a position of this log');
    await expect(verify({ chain: 7 })).rejects.toThrow('there is no chain 7');
  });

  it.each([`'infinity'`, `'294276-12-31'`])('recorded at %s: the position is named', async (time) => {
    await statement(`update events set recorded_at = ${time} where position = 1234`);
    expect(await broken()).toEqual([1_234, 'the event is not the one that was sealed here']);
  });

  it('the time of a checkpoint is shown and signed', async () => {
    const { sealedAt } = await verify();
    expect(Math.abs(Date.now() - Date.parse(sealedAt ?? ''))).toBeLessThan(600_000);
    await statement(
      `update log_checkpoints set sealed_at = sealed_at + interval '1 microsecond' where number = 2`,
    );
    expect((await broken())[1]).toContain('was forged');
    await statement(`update log_checkpoints set sealed_at = 'infinity' where number = 2`);
    expect((await broken())[1]).toContain('was forged');
  });

  it('a page that times out is requested again in smaller size', async () => {
    const limits: number[] = [];
    const slow: LogBytes = {
      ...log,
      page: (after, limit) => {
        limits.push(limit);
        if (limits.length <= 2) throw new EventStoreUnavailableError('took too long');
        return log.page(after, limit);
      },
    };
    expect(await verify({ log: slow })).toMatchObject({ events, broken: undefined });
    expect(limits[2]).toBeLessThan(limits[1] as number);
  });

  it('a changed or removed checkpoint', async () => {
    await statement(`update log_checkpoints set hash = sha256(hash) where number = 2`);
    expect((await broken())[1]).toContain('was forged');
    expect((await broken({ keys: unsigned }))[1]).toContain('its hash is not that of its events');
    await statement(`delete from log_checkpoints where number = 2`);
    expect((await broken())[1]).toContain('checkpoint 2 is missing');
  });
});

describe('sealing stops after a checkpoint that does not verify', () => {
  afterEach(restore);

  const forgeries: readonly (readonly [reason: string, change: string, LogKeys?])[] = [
    ['unsigned-end', 'update log_checkpoints set key_id = null, signature = null'],
    ['forged-end', 'update log_checkpoints set key_id = null, signature = null where number = 2'],
    ['unknown-key', `update log_checkpoints set key_id = 'other' where number = 2`],
    ['forged-end', 'update log_checkpoints set hash = sha256(hash) where number = 2'],
    ['forged-end', `update log_checkpoints set sealed_at = 'infinity' where number = 2`],
    ['no-key', 'select', unsigned],
    ['key-name-taken', `update log_keys set public_key = sha256(public_key)`],
    ['checkpoints-gone', 'truncate log_checkpoints'],
    ['own-seal-gone', 'delete from log_checkpoints where number = 2'],
    ['log-behind', 'delete from events where position > 1999'],
    ['log-gap', 'delete from events where position = 2001'],
    ['log-gap', 'delete from events where position = 2100'],
    [
      'unreadable-event',
      'alter table events alter data drop not null; update events set data = null where position = 2100',
    ],
  ];
  it.each(forgeries)('%s: %s', async (reason, change, keys = oneKey) => {
    await cutTo(2_000);
    const known = await seal();
    if (reason !== 'log-behind') await grow();
    await statement(change);
    const before = await lastCheckpoint(pool);
    const remembered = reason === 'own-seal-gone' ? { known } : {};
    await expect(seal(keys, log, remembered)).rejects.toMatchObject({ name: 'SealRefusedError', reason });
    expect(await lastCheckpoint(pool)).toEqual(before);
  });

  it('checkpoints removed between any two queries are found missing in this or the next verification', async () => {
    let before = 0;
    for (let isRemoved = true; isRemoved; before += 1) {
      await restore();
      await cutTo(2_000);
      const known = await seal();
      isRemoved = false;
      let asked = 0;
      // Each query goes through the pool.
      const query = async (...question: Parameters<typeof pool.query>) => {
        if (asked === before) {
          isRemoved = true;
          await statement(
            'delete from events where position > 1000; delete from log_checkpoints where number > 1',
          );
        }
        asked += 1;
        return pool.query(...question);
      };
      const asking = Object.assign(Object.create(pool), { query }) as typeof pool;
      const options = { pool: asking, log: postgresLogBytes(asking), keys: oneKey, clock: systemClock };
      const end = await sealLog(options, { known })
        .next()
        .then(
          ({ value }) => value,
          (error: unknown) => {
            expect(error).toMatchObject({ reason: expect.stringMatching('own-seal-gone|log-behind') });
            return known;
          },
        );
      const next = seal(oneKey, log, { known: end });
      await (isRemoved
        ? expect(next).rejects.toMatchObject({ reason: 'own-seal-gone' })
        : expect(next).resolves.toBeUndefined());
    }
    expect(before).toBeGreaterThan(4);
  });

  it('the projector reports and counts it, and continues after a repair', async () => {
    await cutTo(2_000);
    const registry = new Registry();
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const ending = new AbortController();
    const options = { pool, log, keys: oneKey, clock: systemClock, signal: ending.signal };
    sealRegularly(options, 5, logger, registerSealMetrics(registry));
    const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
      while (!(await isSo())) await sleep(10);
    };
    await until(() => lines.some((line) => line.includes('log sealed')));
    await statement('create table sealed as select * from log_checkpoints');
    try {
      // Cuts events and checkpoints together: the rest is signed and consistent.
      await statement(
        `delete from events where position > 1000; delete from log_checkpoints where number > 1`,
      );
      expect((await verify()).broken).toBeUndefined();
      await until(async () =>
        /exchange_log_seals_refused_total\{reason="own-seal-gone"\} [1-9]/.test(await registry.metrics()),
      );
      expect(lines.some((line) => line.includes('"level":50') && line.includes('own-seal-gone'))).toBe(true);
      await statement('insert into log_checkpoints select * from sealed on conflict do nothing');
      await grow();
      await until(async () => (await lastCheckpoint(pool))?.last === at(events));
      expect(await registry.metrics()).toMatch(/exchange_log_seal_age_seconds [\d.]+/);
    } finally {
      ending.abort();
      await statement('drop table sealed');
    }
    expect((await verify()).broken).toBeUndefined();
  });
});

it('a later signature vouches for a range; a missing signature is not a break', async () => {
  await restore();
  await cutTo(2_000);
  await seal(unsigned);
  const nobody = expect.stringContaining('are not proven');
  expect(await verify()).toMatchObject({ broken: undefined, doubts: [nobody] });
  await seal(oneKey, log, { adopt: true });
  await grow();
  await seal();
  expect(await verify({ to: at(500) })).toMatchObject({
    from: at(1),
    to: at(2_000),
    broken: undefined,
    doubts: [],
  });
  expect(await verify({ from: at(1_500), to: at(1_600) })).toMatchObject({ broken: undefined, doubts: [] });
  expect(await verify({ from: at(2_001) })).toMatchObject({ from: at(2_001), broken: undefined, doubts: [] });
  // The starting checkpoint is not signed itself, and the signed one after it does not match it.
  await statement('update log_checkpoints set hash = sha256(hash) where number = 1');
  expect((await verify({ from: at(1_500), to: at(1_600) })).broken).toBeDefined();
  await restore();
});

it('after a key replacement, old signatures stay valid, and new signatures vouch for unsigned checkpoints before them', async () => {
  await restore();
  await cutTo(1_200);
  await seal(unsigned);
  await grow(1_300);
  await expect(seal(oneKey)).rejects.toThrow('--adopt');
  await seal(oneKey, log, { adopt: true });
  await grow();
  const both = logKeysOf({ LOG_SIGNING_KEYS: parseKeyRing(`2027:${second},2026:${first}`) });
  await seal(both);
  expect((await verify({ keys: both })).broken).toBeUndefined();
  // Its public key suffices. Without it, the newer signature vouches for everything before it.
  const { stdout } = await exchange(['log', 'keys'], { DATABASE_URL: database.url });
  const [oldKey = ''] = stdout.split('\n');
  expect(oldKey).toMatch(/^2026:[\w-]{43}$/);
  const keys = { LOG_SIGNING_KEYS: parseKeyRing(`2027:${second}`), LOG_VERIFY_KEYS: parseKeyRing(oldKey) };
  const checked = await verify({ keys: logKeysOf(keys) });
  expect([checked.broken, checked.signed]).toEqual([undefined, checked.checkpoints - 2]);
  expect(checked.doubts).toEqual([]);
  expect(
    (await verify({ keys: logKeysOf({ LOG_SIGNING_KEYS: keys.LOG_SIGNING_KEYS }) })).broken,
  ).toBeUndefined();
  await expect(seal(forgedName)).rejects.toThrow('another key was named 2026');
});

const forgedName = logKeysOf({ LOG_SIGNING_KEYS: parseKeyRing(`2026:${second}`) });

it('exchange log: seals and verifies while the service runs; status 1 for a broken log, 2 without a result', async () => {
  await restore();
  const environment = { DATABASE_URL: database.url, LOG_SIGNING_KEYS: `2026:${first}` };
  const nothing = await exchange(['log', 'verify'], environment);
  expect([nothing.status, nothing.stderr]).toEqual([2, expect.stringContaining('nothing is sealed yet')]);
  const sealed = await exchange(['log', 'seal', '--json'], environment);
  expect(JSON.parse(sealed.stdout)).toMatchObject({ sealed: events, checkpoint: { key: '2026' } });
  expect((await exchange(['log', 'verify', '--from', '10', '--to', '20'], environment)).status).toBe(0);
  // Status 2 if there is no result: wrong arguments, wrong settings, an unavailable database.
  const away = { ...environment, DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' };
  const noAnswers = await Promise.all([
    exchange(['log', 'verify', '--to', String(events + 1)], environment),
    exchange(['log', 'verify', '--expect', 'x=y'], environment),
    exchange(['log', 'verify'], away),
    exchange(['read-models', 'verify'], away),
  ]);
  expect(noAnswers.map((one) => one.status)).toEqual([2, 2, 2, 2]);
  expect(noAnswers.map((one) => one.stderr.trim() === '')).toEqual([false, false, false, false]);
  await statement(`update events set type = 'Other' where position = 700`);
  const { status, stdout } = await exchange(['log', 'verify', '--json'], environment);
  expect([status, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ broken: expect.anything() })]);
  expect((JSON.parse(stdout) as { broken: { position: string } }).broken.position).toBe(at(700));
});

it('two processes that seal regularly write one chain; another store starts another chain', async () => {
  await restore();
  const ending = new AbortController();
  const options = { pool, log, keys: oneKey, clock: systemClock, signal: ending.signal };
  for (const every of [5, 7]) sealRegularly(options, every, createLog('silent'));
  while ((await verify().catch(() => undefined))?.events !== events) await sleep(20);
  ending.abort();
  expect((await verify()).broken).toBeUndefined();

  const memory = createMemoryEventStore();
  await fillWithHistory(memory, 300);
  const other = portLogBytes(memory, 'memory-1');
  await expect(seal(oneKey, other)).rejects.toThrow('--new-chain');
  const ofFirst = await verify();
  await seal(oneKey, other, { newChain: true });
  expect(await verify({ log: other })).toMatchObject({ chain: 2, broken: undefined, doubts: [] });
  expect(await verify({ chain: 1 })).toEqual(ofFirst);
  const changed = portLogBytes(
    {
      ...memory,
      readAll: async (asked) =>
        (await memory.readAll(asked)).map((event) =>
          event.position === at(77) ? { ...event, data: { ...event.data, n: -1 } } : event,
        ),
    },
    'memory-1',
  );
  expect((await broken({ log: changed }))[0]).toBe(77);
  // The second chain continues from the end of the first.
  await statement('update log_checkpoints set hash = sha256(hash) where chain = 1');
  expect((await broken({ log: other }))[1]).toContain('the end of chain 1');
  await statement('delete from log_checkpoints where chain = 1');
  expect((await verify({ log: other })).broken?.problem).toContain('chain 1, which chain 2 continues');
});

it('a large log with one changed byte at any position', async () => {
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
  expect(await timed('verified', () => verify())).toMatchObject({ events: events + MANY, broken: undefined });
  await timed('read as objects', async () => {
    for (let after = START; ;) {
      const last = (await store.readAll({ after, limit: 5_000 })).at(-1);
      if (last === undefined) return;
      after = last.position;
    }
  });
  await findEach(flipsOf(createRandom(SEED)));
  expect((await verify({ from: at(MANY) })).broken).toBeUndefined();
}, 3_600_000);

interface Flip {
  readonly position: number;
  readonly what: string;
  readonly change: string;
}

/** One change of every kind in each tenth of the log, at random positions. */
const flipsOf = (random: ReturnType<typeof createRandom>): readonly Flip[] =>
  [...columns, ['position', 'position = position + 100000000'] as const]
    .flatMap(([what, change]) =>
      Array.from({ length: TENTHS }, (_, tenth) => ({
        what,
        change,
        position: Math.floor(((tenth + random.below(1_000_000) / 1_000_000) * MANY) / TENTHS) + 1,
      })),
    )
    .filter(({ position }, n, all) => all.findIndex((other) => other.position === position) === n)
    .sort((a, b) => a.position - b.position);

/** Makes all changes at once. Each is found as the first remaining one, and repaired before the next. */
const findEach = async (flips: readonly Flip[]): Promise<void> => {
  const positions = flips.map(({ position }) => position);
  await statement('create table unchanged_events as select * from events where position = any ($1)', [
    positions,
  ]);
  try {
    for (const { change, position } of flips)
      await statement(`update events set ${change} where position = $1`, [position]);
    let from = 1;
    for (const { what, position } of flips) {
      expect([what, (await broken({ from: at(from) }))[0]]).toEqual([what, position]);
      await statement(
        `delete from events where id in (select id from unchanged_events where position = ${position})
           or position in (${position}, ${position} + 100000000)`,
      );
      await statement(`insert into events select * from unchanged_events where position = ${position}`);
      from = position;
    }
    console.log(
      `${flips.length} bytes of ${MANY} events, each named: ${flips.map(({ what, position }) => `${what} at ${position}`).join('; ')}`,
    );
  } finally {
    await statement('drop table unchanged_events');
  }
};
