import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { openPostgresStore } from '../contract/make-postgres-store.ts';
import { exchange, startProgram } from '../support/program.ts';
import { fillWithHistory } from '../support/sample-history.ts';
import { startEventStoreService } from '../support/eventstoredb/event-store-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** `EVENT_COPY_EVENTS=100000` for the long form. */
const EVENTS = Number(process.env['EVENT_COPY_EVENTS'] ?? 10_000);
const KILLS = 3;
const program = join(import.meta.dirname, '..', '..', 'src', 'operator', 'exchange.js');

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

describe('exchange events copy', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  let directory: string;
  beforeAll(async () => {
    [source, target] = [await createTestDatabase(), await createTestDatabase()];
    directory = await mkdtemp(join(tmpdir(), 'buyer-exchange-copy-'));
    const opened = openPostgresStore(source.url);
    await fillWithHistory(opened.store, EVENTS);
    await opened.close();
  }, 120_000);
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
    await source.drop();
    await target.drop();
  });

  const stores = (): string[] => ['--from', source.url, '--to', target.url];
  const run = (args: readonly string[]) => exchange(args, { DATA_DIR: directory });

  it('refuses while the service runs on the source', async () => {
    const service = startProgram({ DATABASE_URL: source.url, NODE_ENV: 'test', PORT: '0', ROLES: 'api' });
    try {
      await service.until(/listening/);
      await until(async () => {
        const sql = `select from pg_stat_activity where datname = current_database() and application_name = 'exchange-projector'`;
        return (await query(source.url, sql)).length > 0;
      });
      const { status, stderr } = await run(['events', 'copy', ...stores()]);
      expect([status, stderr]).toEqual([1, expect.stringContaining('stop them, then copy')]);
      expect(await countEvents(target.url)).toBe(0);
    } finally {
      await service.end('SIGKILL');
    }
  });

  it('killed again and again, it goes on where it was: no difference, read models made anew', async () => {
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const child = spawn(process.execPath, [program, 'events', 'copy', ...stores()], {
        env: { PATH: process.env['PATH'], DATA_DIR: directory },
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      try {
        await until(async () => (await countEvents(target.url)) >= (EVENTS * kill) / (KILLS + 1));
      } finally {
        child.kill('SIGKILL');
      }
      await ended;
    }
    const before = await countEvents(target.url);
    expect(before).toBeLessThan(await countEvents(source.url));
    const startedMs = performance.now();
    const { status, stdout } = await run(['events', 'copy', ...stores()]);
    const events = await countEvents(source.url);
    console.log(
      `${events} events, ${KILLS} times killed, then in ${Math.round(performance.now() - startedMs)} ms:\n${stdout}`,
    );
    expect(status).toBe(0);
    expect(stdout).toContain('0 differences');
    expect(stdout).toContain(`target: ${events} events`);
    expect(stdout).toContain('read models made anew: advertisers');
    expect(await countEvents(target.url)).toBe(events);
    const offered = Number(/: (\d+) offered by this run/.exec(stdout)?.[1]);
    // A page is offered again at most.
    expect(offered).toBeLessThanOrEqual(events - before + 1_000);
    expect(await readdir(directory)).toEqual([]);
  }, 240_000);

  it('events verify finds one changed character, and says where', async () => {
    const [changed] = await query<{ stream: string; revision: string }>(
      target.url,
      `update events set data = replace(data, 'ten', 'eleven') where position = ${Math.floor(EVENTS / 2)} returning stream, revision`,
    );
    const { status, stdout } = await run(['events', 'verify', ...stores()]);
    expect(status).toBe(1);
    expect(stdout).toContain(`${changed?.stream}@${changed?.revision}: not the same`);
  }, 60_000);

  it('until the read models are made anew, the service refuses to run on another kind of event store', async () => {
    const service = await startEventStoreService();
    const settings = { DATABASE_URL: target.url, EVENTSTORE_URL: service.url, NODE_ENV: 'test', PORT: '0' };
    try {
      const refused = startProgram(settings);
      expect(await refused.ended).toBe(2);
      expect(refused.output()).toContain('read-models rebuild');
      expect((await exchange(['read-models', 'rebuild'], settings)).status).toBe(0);
      const started = startProgram(settings);
      const [, url] = await started.until(/"baseUrl":"([^"]+)"/);
      await until(async () => (await fetch(`${url}/ready`)).status === 200);
      await started.end('SIGTERM');
    } finally {
      await service.close();
    }
  }, 60_000);

  it('shows no password of a store that it cannot open', async () => {
    const url = 'http://someone:top-secret@127.0.0.1/x';
    const { status, stderr } = await run(['events', 'copy', '--from', url, '--to', target.url]);
    expect(status).toBe(1);
    expect(stderr).toContain('esdb:');
    expect(stderr).not.toContain('top-secret');
  });
});

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 4_000; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('it did not happen');
};
