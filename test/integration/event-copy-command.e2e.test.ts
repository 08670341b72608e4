import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { START, type Position } from '../../shared/event-store/event-store.ts';
import { openEventStoreDbStore } from '../contract/make-eventstoredb-store.ts';
import { openPostgresStore } from '../contract/make-postgres-store.ts';
import { sampleEvent } from '../contract/sample-events.ts';
import { amount } from '../support/amount.ts';
import { exchange, startProgram } from '../support/program.ts';
import { fillWithHistory } from '../support/sample-history.ts';
import { startEventStoreProcess } from '../support/eventstoredb/event-store-process.ts';
import { createTestStores } from '../support/test-stores.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { shippedProgram } from '../support/bundles.ts';

/** `EVENT_COPY_EVENTS=100000` for the long form. */
const eventsOr = (few: number): number => Number(process.env['EVENT_COPY_EVENTS'] ?? few);
const KILLS = amount(1, 3);
const program = shippedProgram('exchange.js');

const query = async <T extends object>(url: string, sql: string): Promise<readonly T[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
};

const countEvents = async (url: string): Promise<number> => {
  const [row] = await query<{ n: number }>(url, 'select count(*)::int as n from events');
  return row?.n ?? 0;
};

/** A database with a history. */
const createSource = async (events: number): Promise<TestDatabase> => {
  const source = await createTestDatabase();
  const opened = openPostgresStore(source.url);
  await fillWithHistory(opened.store, events);
  await opened.close();
  return source;
};

interface Target {
  readonly url: string;
  count(): Promise<number>;
  /** Removes the delay of writes. */
  removeDelay(): Promise<unknown>;
  /** Makes one difference. @returns the line that `events verify` must print for it */
  makeDifference(): Promise<string>;
  drop(): Promise<unknown>;
}

const postgresTarget = async (): Promise<Target> => {
  const { url, drop } = await createTestDatabase();
  const count = () => countEvents(url);
  // Slow enough to kill the copy before its end, even on a busy machine.
  await query(
    url,
    `create function take_time() returns trigger language plpgsql
       as $$ begin perform pg_sleep(0.02); return null; end $$;
     create trigger slow after insert on events execute function take_time()`,
  );
  return {
    url,
    count,
    removeDelay: () => query(url, 'drop trigger slow on events'),
    makeDifference: async () => {
      const [changed] = await query<{ stream: string; revision: string }>(
        url,
        `update events set data = replace(data, 'ten', 'eleven')
         where position = ${Math.floor((await count()) / 2)} returning stream, revision`,
      );
      return `${changed?.stream}@${changed?.revision}: not the same`;
    },
    drop,
  };
};

const eventStoreDbTarget = async (): Promise<Target> => {
  const stores = await createTestStores('eventstoredb');
  const url = stores.settings['EVENTSTORE_URL'] ?? '';
  return {
    url,
    count: async () => {
      const { store } = openEventStoreDbStore(url);
      let events = 0;
      for (let after: Position = START; ;) {
        const page = await store.readAll({ after, limit: 10_000 });
        events += page.length;
        const last = page.at(-1);
        if (last === undefined) break;
        after = last.position;
      }
      await store.close();
      return events;
    },
    removeDelay: async () => undefined,
    makeDifference: async () => {
      const { store } = openEventStoreDbStore(url);
      await store.append('sample-too-much', [sampleEvent()], 'no-stream');
      await store.close();
      return 'sample-too-much@0: only in the target';
    },
    drop: () => stores.drop(),
  };
};

const targets: readonly (readonly [string, () => Promise<Target>, number])[] = [
  ['Postgres', postgresTarget, eventsOr(2_500)],
  ['EventStoreDB', eventStoreDbTarget, eventsOr(1_000)],
];

describe.each(targets)('exchange events copy from Postgres to %s', (name, createTarget, minimum) => {
  let source: TestDatabase;
  let target: Target;
  let directory: string;
  beforeAll(async () => {
    source = await createSource(minimum);
    target = await createTarget();
    directory = await mkdtemp(join(tmpdir(), 'buyer-exchange-copy-'));
  }, 300_000);
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
    await target.drop();
    await source.drop();
  });

  const stores = (): string[] => ['--from', source.url, '--to', target.url];
  const settings = () => ({ DATA_DIR: directory, DATABASE_URL: source.url });

  it('given repeated kills, then it resumes, finds no difference and rebuilds the read models', async () => {
    const startedMs = performance.now();
    const events = await countEvents(source.url);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const child = spawn(process.execPath, [program, 'events', 'copy', ...stores()], {
        env: { PATH: process.env['PATH'], ...settings() },
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      try {
        // In the first half, because the copy is further when the count is read.
        await until(async () => (await target.count()) >= (events * kill) / (2 * KILLS + 2));
      } finally {
        child.kill('SIGKILL');
      }
      await ended;
    }
    const before = await target.count();
    expect(before).toBeLessThan(events);
    await target.removeDelay();
    const { status, stdout } = await exchange(['events', 'copy', ...stores()], settings());
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    console.log(`${events} events to ${name}, ${KILLS} times killed, in ${seconds} s:\n${stdout}`);
    expect(status).toBe(0);
    expect(stdout).toContain('0 differences');
    expect(stdout).toContain(`target: ${events} events`);
    expect(stdout).toContain('rebuilt read models: advertisers');
    expect(await target.count()).toBe(events);
    const offered = Number(/: (\d+) offered by this run/.exec(stdout)?.[1]);
    // At most one page is offered again.
    expect(offered).toBeLessThanOrEqual(events - before + 1_000);
    expect(await readdir(directory)).toEqual([]);
  }, 600_000);

  it('events verify reports no difference, then one difference with its position', async () => {
    const same = await exchange(['events', 'verify', ...stores()], settings());
    expect([same.status, same.stdout]).toEqual([0, expect.stringContaining('0 differences')]);
    const difference = await target.makeDifference();
    const { status, stdout } = await exchange(['events', 'verify', ...stores()], settings());
    expect([status, stdout]).toEqual([1, expect.stringContaining(difference)]);
  }, 300_000);
});

describe('exchange events copy', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  beforeAll(async () => {
    [source, target] = [await createSource(100), await createTestDatabase()];
  });
  afterAll(async () => {
    await source.drop();
    await target.drop();
  });

  it('is refused while the service runs on the source', async () => {
    const service = startProgram({ DATABASE_URL: source.url, NODE_ENV: 'test', PORT: '0', ROLES: 'api' });
    try {
      await service.until(/listening/);
      await until(async () => {
        const sql = `select from pg_stat_activity where datname = current_database() and application_name = 'exchange-projector'`;
        return (await query(source.url, sql)).length > 0;
      });
      const { status, stderr } = await exchange(
        ['events', 'copy', '--from', source.url, '--to', target.url],
        {},
      );
      expect([status, stderr]).toEqual([1, expect.stringContaining('stop them, then copy')]);
      expect(await countEvents(target.url)).toBe(0);
    } finally {
      await service.end('SIGKILL');
    }
  });

  it('until the read models are rebuilt, the service refuses to run on another kind of event store', async () => {
    expect(
      (await exchange(['read-models', 'rebuild', '--offline'], { DATABASE_URL: source.url })).status,
    ).toBe(0);
    const service = await startEventStoreProcess();
    const settings = { DATABASE_URL: source.url, EVENTSTORE_URL: service.url, NODE_ENV: 'test', PORT: '0' };
    try {
      const refused = startProgram(settings);
      expect(await refused.ended).toBe(2);
      expect(refused.output()).toContain('read-models rebuild --offline');
      expect((await exchange(['read-models', 'rebuild', '--offline'], settings)).status).toBe(0);
      const started = startProgram(settings);
      const [, url] = await started.until(/"baseUrl":"([^"]+)"/);
      await until(async () => (await fetch(`${url}/ready`)).status === 200);
      await started.end('SIGTERM');
    } finally {
      await service.stop();
    }
  });

  it('is refused if personal data would be copied to a database without its keys', async () => {
    const id = '00000000-0000-4000-8000-00000000abcd';
    const keys = `insert into personal_keys (customer_id, id) values (1, '${id}');
      insert into secrets (customer_id, id, owner_kind, owner_id, key_id, sealed)
      values (1, '${id}', 'personal-keys', '${id}', 'test', 'x')`;
    const [from, to] = [await createSource(100), await createTestDatabase()];
    try {
      await query(from.url, keys);
      const words = ['events', 'copy', '--from', from.url, '--to', to.url];
      const settings = { DATABASE_URL: from.url };
      const refused = await exchange(words, settings);
      expect([refused.status, refused.stdout]).toEqual([1, '']);
      expect(refused.stderr).toMatch(
        /^Nothing was copied: .* lacks 1 sets of keys, .*personal_keys and secrets/,
      );
      expect(await countEvents(to.url)).toBe(0);
      await query(to.url, keys);
      expect((await exchange(words, settings)).stdout).toContain('0 differences');
    } finally {
      await from.drop();
      await to.drop();
    }
  }, 120_000);

  it('is refused from a source without events, before anything is written', async () => {
    const [from, to] = [await createTestDatabase(), await createTestDatabase()];
    try {
      const words = ['events', 'copy', '--from', from.url, '--to', to.url];
      const { status, stdout, stderr } = await exchange(words, { DATABASE_URL: from.url });
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toContain('contains no events: nothing was copied');
    } finally {
      await from.drop();
      await to.drop();
    }
  });

  it('does not show the password of a store that it cannot open', async () => {
    const url = 'http://someone:top-secret@127.0.0.1/x';
    const { status, stderr } = await exchange(['events', 'copy', '--from', url, '--to', target.url], {});
    expect(status).toBe(1);
    expect(stderr).toContain('esdb:');
    expect(stderr).not.toContain('top-secret');
  });
});

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 20_000; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('it did not happen');
};
