import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { readConfig } from '../../app/config.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { createLog } from '../../app/log.ts';
import { createKey, createUser } from '../../cli/operate-accounts.ts';
import { sleep } from '../../shared/async/backoff.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { startSupervisor, type Supervisor } from '../faults/kit/supervisor.ts';
import { amount } from '../support/amount.ts';
import { apiOf } from '../support/api-client.ts';
import { measureCollected } from '../support/collected-memory.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { chainsOf, SlowReader } from '../support/slow-reader.ts';
import { createTestStores, type TestStores } from '../support/test-stores.ts';
import { until } from '../support/until.ts';

/** The system buffers about 4 MB of a connection, so the feed must be larger. */
const LARGE_EVENTS = 1_500;
const LARGE_CHARACTERS = 5_000;
const STREAMS_OF_USER = 10;

interface Writer {
  readonly customerId: number;
  readonly apiKey: string;
  /** Events of the usual size. */
  readonly append: (count: number) => Promise<void>;
}

/** An account with a large feed. No real event makes so large notifications: they fill the buffers sooner. */
const openWriter = async (
  baseUrl: string,
  { store, pool }: { readonly store: EventStore; readonly pool: Pool },
  { customerId, apiKey }: { readonly customerId: number; readonly apiKey: string },
): Promise<Writer> => {
  const api = apiOf(baseUrl, { Authorization: `Bearer ${apiKey}` });
  const { status, body } = await api.post<{ id: number }>('/advertisers', { name: 'Busy' });
  expect(status).toBe(201);
  await until(async () => {
    const { rowCount } = await pool.query(
      `insert into notifications (customer_id, position, idx, id, kind, resource_type, resource_id, advertiser_id,
         occurred_at, revision, changed)
       select customer_id, position, n, gen_random_uuid(), 'advertiser.updated', resource_type, resource_id,
         advertiser_id, occurred_at, n, array[repeat('x', $3)]
       from notifications, generate_series(1, $2::int) n where customer_id = $1`,
      [customerId, LARGE_EVENTS, LARGE_CHARACTERS],
    );
    return rowCount === LARGE_EVENTS;
  });
  const event = () => {
    const id = randomUUID();
    const ids = { requestId: id, correlationId: id, causationId: id };
    const occurredAt = new Date().toISOString();
    const metadata = { customerId, actor: 'test', ...ids, occurredAt, schemaVersion: 1 };
    return { id, type: 'AdvertiserUpdated', data: { changes: { name: 'Busier' } }, metadata };
  };
  return {
    customerId,
    apiKey,
    append: async (count) => {
      await store.append(
        `advertiser-${customerId}-${body.data.id}`,
        Array.from({ length: count }, event),
        'any',
      );
    },
  };
};

/** Connections of a local port for which the system holds more than a megabyte that the client has not taken. */
const fullConnections = async (port: number): Promise<number> => {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  return tables
    .flatMap((table) => table.split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , , queues = '']) => {
      const isOurs = Number.parseInt(local.split(':')[1] ?? '', 16) === port;
      return isOurs && Number.parseInt(queues, 16) > 1e6;
    }).length;
};

/** The ids of the account's feed, in its order. */
const feedOf = async (pool: Pool, customerId: number): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ id: string }>(
    `select 'msg_' || id as id from notifications where customer_id = $1 and kind = 'advertiser.updated'
     order by position collate "C", idx`,
    [customerId],
  );
  return rows.map(({ id }) => id);
};

const readTo = async (reader: SlowReader, count: number): Promise<void> => {
  const deadlineMs = performance.now() + 60_000;
  while (reader.received < count) {
    if (performance.now() > deadlineMs) throw new Error(`${reader.received} of ${count} events`);
    if (reader.isOver && !(await reader.open())) await sleep(20);
    reader.read(Infinity);
    await setImmediate();
  }
};

describe('clients that do not read', () => {
  const BLOCKED_MS = 1_500;
  let service: RunningService;
  beforeAll(async () => {
    service = await startRunningService({}, createLog('silent'), { realtime: { blocked: BLOCKED_MS } });
  });
  afterAll(() => service.stop());

  const openStreams = async (): Promise<number> => {
    const { rows } = await service.pool.query('select from realtime_leases');
    return rows.length;
  };

  it('are cut, no longer count, hold back no other client, and resume without loss', async () => {
    const writer = await openWriter(service.baseUrl, service, await service.openAccount());
    const readers = Array.from({ length: 4 }, () => new SlowReader(service.port, writer.apiKey));
    await Promise.all(readers.map((reader) => reader.open()));
    const [awake, ...asleep] = readers as [SlowReader, ...SlowReader[]];
    const startMs = performance.now();
    await readTo(awake, LARGE_EVENTS);
    await until(async () => (await openStreams()) === 1);
    expect(performance.now() - startMs).toBeGreaterThan(BLOCKED_MS - 500);
    expect(asleep.map(({ received }) => received)).toEqual([0, 0, 0]);

    await writer.append(100);
    await until(async () => (await feedOf(service.pool, writer.customerId)).length === LARGE_EVENTS + 100);
    await Promise.all(readers.map((reader) => readTo(reader, LARGE_EVENTS + 100)));
    const chain = chainsOf(await feedOf(service.pool, writer.customerId)).at(-1);
    expect(readers.map((reader) => reader.chain)).toEqual(readers.map(() => chain));
    // What one connection has buffered is less than the feed.
    for (const { connections } of asleep) expect(connections).toBeGreaterThan(1);
    expect(awake.connections).toBe(1);
    for (const reader of readers) reader.close();
  }, 120_000);
});

const READERS = amount(50, 500);
const SECONDS = amount(15, 600);
const ACCOUNTS = 5;

describe(`${READERS} slow clients, for ${SECONDS} s`, () => {
  const PAUSE_MS = 250;
  /** 4 kB a second. */
  const CHARACTERS = 1_000;
  /** Longer than the service waits for a client. */
  const ASLEEP_MS = 40_000;
  /** For each account. */
  const EVENTS_PER_PAUSE = 10;
  /** One buffer of 50 events, twice: as text, and as written. */
  const STREAM_BYTES_MAX = 2 * 50 * (LARGE_CHARACTERS + 1_000);

  let stores: TestStores;
  let installation: Installation;
  let supervisor: Supervisor;
  let memory: Awaited<ReturnType<typeof measureCollected>>['measure'];
  const writers: Writer[] = [];
  const readers: SlowReader[] = [];
  beforeAll(async () => {
    stores = await createTestStores();
    installation = await openWithLongTimeouts(readConfig(stores.settings), 'slow-readers');
    await installation.migrate();
    const collected = await measureCollected();
    memory = collected.measure;
    supervisor = await startSupervisor(1, { ...stores.settings, ...collected.environment });
    await supervisor.ready();
    const port = supervisor.ports[0] ?? 0;
    for (let account = 0; account < ACCOUNTS; account += 1) {
      const opened = await createAccount(installation, `Account ${account}`);
      const writer = await openWriter(`http://127.0.0.1:${port}`, installation, opened);
      writers.push(writer);
      for (let user = 0; user < READERS / ACCOUNTS / STREAMS_OF_USER; user += 1) {
        const { customerId } = opened;
        const userId = await createUser(installation, customerId, { name: `${user}`, role: 'member' });
        const { key } = await createKey(installation, customerId, { name: `${user}`, userId });
        for (let n = 0; n < STREAMS_OF_USER; n += 1) readers.push(new SlowReader(port, key));
      }
    }
  }, 120_000);
  afterAll(async () => {
    for (const reader of readers) reader.close();
    await supervisor.stop();
    await installation.close();
    await stores.drop();
  }, 60_000);

  it(
    'take a bounded and constant memory, and each has received the beginning of the feed',
    async () => {
      const before = await memory();
      await Promise.all(readers.map((reader) => reader.open()));
      await until(async () => (await fullConnections(supervisor.ports[0] ?? 0)) === READERS, 120_000);
      const startMs = performance.now();
      const isOver = (): boolean => performance.now() - startMs > SECONDS * 1_000;
      const reading = readers.map((reader, n) => readSlowly(reader, n, isOver));
      const writing = writers.map(async (writer) => {
        let written = LARGE_EVENTS;
        while (!isOver()) {
          await writer.append(EVENTS_PER_PAUSE);
          written += EVENTS_PER_PAUSE;
          await sleep(PAUSE_MS);
        }
        const isWhole = async () => (await feedOf(installation.pool, writer.customerId)).length === written;
        await until(isWhole, 60_000);
      });
      const samples: number[] = [];
      const resident: number[] = [];
      while (!isOver()) {
        await sleep(Math.max(1_000, SECONDS * 10));
        const { bytes, residentBytes } = await memory();
        samples.push(bytes);
        resident.push(residentBytes);
      }
      await Promise.all([...reading, ...writing]);
      const half = Math.floor(samples.length / 2);
      const [earlier, later] = [Math.max(...samples.slice(0, half)), Math.max(...samples.slice(half))];
      const ofStream = (Math.max(earlier, later) - before.bytes) / READERS;
      const mb = (bytes: number): string => `${Math.round(bytes / 1e6)}`;
      console.log(
        `heap and external, MB: ${mb(before.bytes)} before, ${samples.map(mb).join(' ')}; ` +
          `resident: ${mb(before.residentBytes)} before, ${resident.map(mb).join(' ')}; ` +
          `${Math.round(ofStream / 1_000)} kB a stream; ` +
          `${readers.reduce((sum, { received }) => sum + received, 0)} events received over ` +
          `${readers.reduce((sum, { connections }) => sum + connections, 0)} connections`,
      );
      expect(ofStream).toBeLessThan(STREAM_BYTES_MAX);
      // In the short form, the buffers of the system are full only at the end.
      expect(later).toBeLessThan(amount(Infinity, earlier * 1.1 + 5e6));
      await expectNoLoss();
    },
    (SECONDS + 300) * 1_000,
  );

  /** Every fifth reads nothing for longer than the service waits, then everything that is there. */
  const readSlowly = async (reader: SlowReader, n: number, isOver: () => boolean): Promise<void> => {
    let awakeAtMs = performance.now() + (n % 5 === 0 ? ASLEEP_MS : 0);
    while (!isOver()) {
      if (reader.isOver && (await reader.open()) && n % 5 === 0) awakeAtMs = performance.now() + ASLEEP_MS;
      if (performance.now() >= awakeAtMs) reader.read(n % 5 === 0 ? Infinity : CHARACTERS);
      await sleep(PAUSE_MS);
    }
  };

  const expectNoLoss = async (): Promise<void> => {
    for (const [account, { customerId }] of writers.entries()) {
      const each = READERS / ACCOUNTS;
      const ofAccount = readers.slice(account * each, (account + 1) * each);
      const feed = await feedOf(installation.pool, customerId);
      const chains = chainsOf(feed);
      for (const { received, chain } of ofAccount) expect(chain).toBe(chains[received]);
      // One that slept, and one that did not, read on.
      for (const reader of ofAccount.slice(0, 2)) {
        await readTo(reader, feed.length);
        expect(reader.chain).toBe(chains[feed.length]);
      }
    }
  };
});
