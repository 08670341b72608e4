import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { allProjections } from '../../projections/all-projections.ts';
import { advertisersProjection } from '../../projections/advertisers.ts';
import type { ReadModelComparison } from '../../projections/engine/copy/compare-copy.ts';
import { connectCopy, holdCopy } from '../../projections/engine/copy/copy-state.ts';
import {
  cancelOnline,
  isRebuildable,
  rebuildOnline,
  verifyOnline,
  type OnlineOptions,
} from '../../projections/engine/copy/online-rebuild.ts';
import { syndicationProjection } from '../../projections/syndication.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { START, type Position } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { sampleEvent } from '../contract/sample-events.ts';
import { amount } from '../support/amount.ts';
import { apiOf, untilDefinite, type Api, type ApiAnswer } from '../support/api-client.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { leanApiOf } from '../support/lean-api.ts';
import { exchange, exchangeApart, startProgram } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';

const ADVERTISERS = amount(300, 20_000);
/** Started at this rate, however long each takes. A quarter are writes. */
const REQUESTS_EACH_SECOND = amount(40, 200);
/** One write and three reads. */
const REQUESTS_PER_CYCLE = 4;
/** The maximum of concurrent cycles: 200 requests per second that take two seconds each. */
const CYCLES_MAX = 100;
/** The `Retry-After` of a 503. */
const RETRY_AFTER_MS = 1_000;
const rebuildable = allProjections.filter(isRebuildable);

/**
 * An API process in this test process, for assertions beyond the answers. Clients use `served`, which also runs the
 * read models.
 */
let service: RunningService;
let served: Awaited<ReturnType<typeof startServing>>;
let account: TestAccount;
let ids: readonly number[] = [];
beforeAll(async () => {
  service = await startRunningService({ ROLES: 'api' });
  account = await service.openAccount();
  served = await startServing();
  await fill();
}, 600_000);
afterAll(async () => {
  await served.stop();
  await service.stop();
}, 120_000);

/** Also for other processes of the installation: they decrypt personal data with its keys. */
const settings = () => ({
  ...service.stores,
  DATA_DIR: service.dataDir,
  SECRET_KEYS: `test:${'A'.repeat(43)}`,
});

/**
 * The shipped service in a separate process, so that it does not compete with the load and the rebuilds for this
 * process.
 */
const startServing = async () => {
  const program = startProgram({
    ...settings(),
    ...generousLimits,
    NODE_ENV: 'test',
    LOG_LEVEL: 'info',
    PORT: '0',
  });
  const [, baseUrl = ''] = await program.until(/"baseUrl":"([^"]+)"/);
  while ((await fetch(`${baseUrl}/ready`)).status !== 200) await sleep(50);
  const api = apiOf(baseUrl, { Authorization: `Bearer ${account.apiKey}` });
  return { baseUrl, api, stop: () => program.end('SIGTERM') };
};

/** Repeats each request until it is answered: on a busy machine, any request may need that. */
const patient = ({ post, put, delete: remove }: Api): Pick<Api, 'post' | 'put' | 'delete'> => {
  const once = () => ({ 'Idempotency-Key': randomUUID() });
  return {
    post: <Data>(path: string, body?: unknown) => {
      const headers = once();
      return untilDefinite(() => post<Data>(path, body, headers));
    },
    put: <Data>(path: string, body?: unknown) => {
      const headers = once();
      return untilDefinite(() => put<Data>(path, body, headers));
    },
    delete: <Data>(path: string) => {
      const headers = once();
      return untilDefinite(() => remove<Data>(path, headers));
    },
  };
};

/** Creates rows in the tables of every kind of read model. */
const fill = async (): Promise<void> => {
  const api = patient(served.api);
  const made: number[] = [];
  for (let from = 0; from < ADVERTISERS; from += 50) {
    const some = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        api.post<{ id: number }>('/advertisers', { name: `A ${from + n}` }),
      ),
    );
    made.push(...some.map(({ body }) => body.data.id));
  }
  ids = made;
  const [first = 0, second = 0] = made;
  await api.put(`/advertisers/${first}`, { name: 'Changed' });
  await api.delete(`/advertisers/${second}`);
  const agent = await api.post<{ id: string }>('/adcp-agents', {
    name: 'Agent',
    url: 'https://agent.example.com/mcp',
    protocol: 'MCP',
    auth: { type: 'bearer', token: 'token' },
    accountId: 'test',
  });
  const answers = [
    agent,
    await api.post('/campaigns', {
      advertiserId: first,
      name: 'Autumn',
      budget: { total: 5_000, currency: 'USD' },
    }),
    await api.post(`/advertisers/${first}/event-sources/sync`, {
      account: { account_id: String(first) },
      event_sources: [{ event_source_id: 'shop' }],
    }),
    await api.post(`/advertisers/${first}/audiences/sync`, {
      audiences: [
        { audienceId: 'customers', add: [{ externalId: 'crm-1', hashedEmail: sha256('jane@example.com') }] },
      ],
    }),
    await api.post(`/advertisers/${first}/assets/uploads`, {
      name: 'blue.png',
      mimeType: 'image/png',
      bytes: 100,
    }),
    ...(await oneByOne(['one', 'two'], (eventId) =>
      api.post('/event-sources/shop/events', {
        advertiserId: first,
        events: [
          {
            eventId,
            eventTime: new Date().toISOString(),
            eventType: 'purchase',
            value: 0.1,
            currency: 'USD',
          },
        ],
      }),
    )),
  ];
  const campaign = answers[1]?.body.data as { readonly id: string };
  // Sandbox sellers accept only creatives of a sandbox advertiser.
  const sandbox = await api.post<{ id: number }>('/advertisers', { name: 'Sandbox', sandbox: true });
  const trial = await api.post<{ id: string }>('/campaigns', {
    advertiserId: sandbox.body.data.id,
    name: 'Trial',
  });
  const tag = await api.post<{ id: string }>(`/campaigns/${trial.body.data.id}/creatives/create`, {
    formatKind: 'display_tag',
    copy: { tag: '<script></script>' },
  });
  const news = ['sellers', 'add', '--name', 'News', '--channels', 'display', '--json'];
  expect((await exchange(news, service.stores)).status).toBe(0);
  answers.push(
    sandbox,
    trial,
    tag,
    await api.post(`/creatives/${tag.body.data.id}/submit`, { sellerIds: [1, 2] }),
    await api.post('/creative-engines/1/connections', { apiKey: 'sbx_the-key-of-a-buyer' }),
    await api.post(`/advertisers/${first}/catalogs/sync`, {
      account: { account_id: String(first) },
      catalogs: [{ catalog_id: 'shoes', type: 'product', items: [{ item_id: 'one' }] }],
    }),
    await api.post(`/campaigns/${campaign.id}/creatives/create`, { name: 'Banner', formatKind: 'image' }),
    await api.post(`/campaigns/${campaign.id}/creative-sessions`, { title: 'S', prompt: 'P' }),
    await api.post(`/campaigns/${campaign.id}/proposal-requests`, { sellerIds: [1] }),
    // It gets nothing: its deliveries would change while read models are compared.
    await api.post('/webhook-subscriptions', {
      url: 'https://hooks.example.com/',
      eventTypes: ['task.failed'],
    }),
    await api.post(`/advertisers/${first}/syndicate`, {
      resourceType: 'AUDIENCE',
      resourceId: 'customers',
      adcpAgentIds: [agent.body.data.id],
      enabled: true,
    }),
  );
  await reportDelivery();
  expect(answers.map(({ status, text }) => (status < 300 ? 'done' : text))).toEqual(
    answers.map(() => 'done'),
  );
};

/** As the worker that asks sellers appends it. */
const reportDelivery = async (): Promise<void> => {
  const day = new Date().toISOString().slice(0, 10);
  const data = { sellerId: 1, day, buys: [{ mediaBuyId: 'mb', impressions: 1, currency: 'USD' }] };
  const { metadata } = sampleEvent();
  const event = {
    ...sampleEvent({ type: 'SellerDeliveryReported', data }),
    metadata: { ...metadata, customerId: account.customerId },
  };
  const stream = `sellerDelivery-${account.customerId}-1-${day.replaceAll('-', '')}`;
  await service.store.append(stream, [event], 'no-stream');
};

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const oneByOne = async <T, R>(values: readonly T[], work: (value: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  for (const value of values) results.push(await work(value));
  return results;
};

const optionsOf = (signal = new AbortController().signal): OnlineOptions =>
  rebuildOptions(service, { signal });

const one = async <T>(sql: string, values: unknown[] = []): Promise<T> =>
  (await service.pool.query(sql, values)).rows[0] as T;

/** All properties of the read models' tables on which a migration, a policy or a plan could depend. */
const shapes = async (): Promise<unknown> =>
  one(
    `select json_agg(json_build_object('table', c.relname, 'options', c.reloptions, 'rights', c.relacl::text,
         'security', (c.relrowsecurity, c.relforcerowsecurity)::text,
         'columns', (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
             'null', a.attnotnull, 'storage', a.attstorage, 'rights', a.attacl::text, 'collation', a.attcollation,
             'default', pg_get_expr(d.adbin, d.adrelid)) order by a.attname)
           from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
           where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
         'indexes', (select json_agg(pg_get_indexdef(i.indexrelid) order by i.indexrelid::regclass::text)
           from pg_index i where i.indrelid = c.oid),
         'constraints', (select json_agg(k.conname || ' ' || pg_get_constraintdef(k.oid) order by k.conname)
           from pg_constraint k where k.conrelid = c.oid),
         'policies', (select json_agg(json_build_object('name', p.polname, 'cmd', p.polcmd, 'roles', p.polroles,
             'using', pg_get_expr(p.polqual, p.polrelid)) order by p.polname) from pg_policy p where p.polrelid = c.oid)
       ) order by c.relname) as shapes
     from pg_class c where c.relname = any($1) and c.relnamespace = 'public'::regnamespace`,
    [rebuildable.flatMap(({ tables }) => tables)],
  );

const leftovers = async (): Promise<number> =>
  (
    await one<{ left: number }>(
      `select ((select count(*) from read_model_copies)
         + (select count(*) from pg_namespace where nspname like 'copy\\_of\\_%'))::int as left`,
    )
  ).left;

const oidOf = async (table: string): Promise<number> =>
  (await one<{ oid: number }>('select to_regclass($1)::oid::int as oid', [table])).oid;

const differing = (result: ReadModelComparison): unknown =>
  result.tables.filter(({ missing, surplus, changed }) => missing + surplus + changed > 0);

/** A quantile of the times from a request to its answer, including repeats. */
const quantile = (sorted: readonly number[], part: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);

/**
 * Writes and reads back until `ending`. Cycles start at fixed times instead of after the previous one, like independent
 * clients, each on another advertiser. If no advertiser is free, it waits and counts the wait: a slow machine does what
 * it can. Reports the repeated requests and the achieved rate.
 */
const traffic = async (ending: AbortSignal) => {
  const api = leanApiOf(served.baseUrl, { Authorization: `Bearer ${account.apiKey}` });
  const seen = { writes: 0, reads: 0, repeated: 0, failed: [] as string[], stale: 0, begun: 0, answered: 0 };
  const tookMs: number[] = [];
  const send = async <Data>(ask: () => Promise<ApiAnswer<Data>>): Promise<ApiAnswer<Data>> => {
    let asked = 0;
    const sentMs = performance.now();
    seen.begun += 1;
    const answer = await untilDefinite(() => ((asked += 1), ask()), RETRY_AFTER_MS);
    tookMs.push(performance.now() - sentMs);
    seen.repeated += asked - 1;
    if (!ending.aborted) seen.answered += 1;
    if (answer.status >= 300) seen.failed.push(`${answer.status} ${answer.text}`);
    return answer;
  };
  const cycle = async (id: number, name: string): Promise<void> => {
    await send(() => api.put(`/advertisers/${id}`, { name }));
    const [read] = await Promise.all([
      send(() => api.get<{ name: string }>(`/advertisers/${id}`)),
      send(() => api.get('/advertisers?take=50')),
      send(() => api.get('/campaigns')),
    ]);
    if (read.body.data?.name !== name) seen.stale += 1;
    seen.writes += 1;
    seen.reads += REQUESTS_PER_CYCLE - 1;
  };
  // Other tests use the first ones.
  const free = ids.slice(100, 100 + CYCLES_MAX);
  const running = new Set<Promise<void>>();
  const beganMs = performance.now();
  const elapsedMs = (): number => performance.now() - beganMs;
  let [waitedMs, wholeMs] = [0, 0];
  ending.addEventListener('abort', () => (wholeMs = elapsedMs()), { once: true });
  for (let n = 0; !ending.aborted; n += 1) {
    await sleep(Math.max(0, (n * REQUESTS_PER_CYCLE * 1_000) / REQUESTS_EACH_SECOND - elapsedMs()), ending);
    const fromMs = elapsedMs();
    while (free.length === 0) await Promise.race(running);
    waitedMs += elapsedMs() - fromMs;
    const id = free.shift() as number;
    const begun: Promise<void> = cycle(id, `Name ${n}`).finally(() => {
      running.delete(begun);
      free.push(id);
    });
    running.add(begun);
  }
  await Promise.all(running);
  api.close();
  tookMs.sort((a, b) => a - b);
  return {
    ...seen,
    tookMs,
    waitedMs,
    perSecond: (seen.answered * 1_000) / wholeMs,
    seconds: wholeMs / 1_000,
  };
};

type RebuildResult = ReadModelComparison & { readonly seconds: number; readonly switched: boolean };

/** The rows that each rebuild compared just before its switch. */
const describeRows = (results: readonly RebuildResult[]): string =>
  results
    .map(({ readModel, rows, seconds, tables }) => {
      const sum = (of: 'missing' | 'surplus' | 'changed') =>
        tables.reduce((total, table) => total + table[of], 0);
      return `  ${readModel}: ${rows} rows, ${sum('missing')} missing, ${sum('surplus')} surplus, ${sum('changed')} changed; ${seconds} s`;
    })
    .join('\n');

it('rebuilt during writes and reads: no request fails, no read is stale, each copy equals the live tables row by row', async () => {
  const before = await shapes();
  const ending = new AbortController();
  const running = traffic(ending.signal);
  const oids = [await oidOf('advertisers'), await oidOf('work_list')];
  const rebuilt = await exchangeApart(['read-models', 'rebuild', '--json'], settings());
  await sleep(300);
  ending.abort();
  const seen = await running;
  expect(rebuilt.status === 0 ? 'all were put in place' : rebuilt.stderr).toBe('all were put in place');
  const results = rebuilt.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RebuildResult);
  console.log(
    `${results.length} read models rebuilt during ${seen.writes} writes and ${seen.reads} reads in ${Math.round(seen.seconds)} s: ` +
      `${Math.round(seen.perSecond)} answered per second of ${REQUESTS_EACH_SECOND} requested, ${seen.failed.length} failed, ` +
      `${seen.stale} stale, ${seen.repeated} repeated after 503; ` +
      `${[0.5, 0.99, 1].map((part) => quantile(seen.tookMs, part)).join(', ')} ms (median, 99 %, longest); ` +
      `the load itself waited ${Math.round(seen.waitedMs)} ms\n${describeRows(results)}`,
  );
  expect(results.map(({ readModel }) => readModel)).toEqual(rebuildable.map(({ name }) => name));
  expect(results.flatMap(differing)).toEqual([]);
  expect({ failed: seen.failed, stale: seen.stale }).toEqual({ failed: [], stale: 0 });
  expect([await oidOf('advertisers'), await oidOf('work_list')]).toEqual([expect.any(Number), oids[1]]);
  expect(await oidOf('advertisers')).not.toBe(oids[0]);
  expect(await shapes()).toEqual(before);
  // Otherwise the test compares nothing.
  const empty = results.filter(({ rows }) => rows === 0).map(({ readModel }) => readModel);
  expect(empty).toEqual([]);
  for (const projection of rebuildable.filter((_, n) => n % 4 === 0)) {
    expect(differing(await verifyOnline(optionsOf(), projection))).toEqual([]);
  }
  expect(await leftovers()).toBe(0);
}, 600_000);

it('verify finds planted differences row by row, and rebuild repairs them', async () => {
  // Advertisers that the traffic does not write.
  const [changed, missing] = ids.slice(30);
  await service.pool.query(`update advertisers set name = 'Planted' where id = $1`, [changed]);
  await service.pool.query('delete from advertisers where id = $1', [missing]);
  await service.pool.query(
    `insert into advertisers select customer_id, 999999999, revision, status, sandbox, name, created_at, body
     from advertisers where id = $1`,
    [changed],
  );
  await service.pool.query(
    `update advertiser_counts set count = count + 1 where status = 'ACTIVE' and not sandbox`,
  );
  const { status, stdout } = await exchange(
    ['read-models', 'verify', 'advertisers', '--json'],
    service.stores,
  );
  expect(status).toBe(1);
  const found = JSON.parse(stdout) as ReadModelComparison;
  const of = (table: string) => found.tables.find((entry) => entry.table === table);
  expect(of('advertisers')).toMatchObject({ missing: 1, surplus: 1, changed: 1 });
  const shown = of('advertisers')?.shown ?? [];
  expect(shown.find(({ problem }) => problem === 'missing')?.key['id']).toBe(missing);
  expect(shown.find(({ problem }) => problem === 'surplus')?.key['id']).toBe(999_999_999);
  expect(shown.find(({ problem }) => problem === 'changed')).toMatchObject({
    key: { id: changed },
    columns: { name: ['Planted', 'A 30'] },
  });
  expect(of('advertiser_counts')).toMatchObject({ missing: 0, surplus: 0, changed: 1 });

  expect((await rebuildOnline(optionsOf(), advertisersProjection)).differences).toBe(4);
  const again = await verifyOnline(optionsOf(), advertisersProjection);
  expect([again.differences, await leftovers()]).toEqual([0, 0]);
}, 120_000);

it('projections that cannot be rebuilt lead to status 2', async () => {
  const other = await exchange(['read-models', 'verify', 'credentials'], service.stores);
  expect([other.status, other.stderr]).toEqual([2, expect.stringContaining('not built from the log alone')]);
  const consumer = await exchange(['read-models', 'rebuild', 'webhook-fan-out'], service.stores);
  expect([consumer.status, consumer.stderr]).toEqual([2, expect.stringContaining('nothing is sent twice')]);
  const { rows } = await service.pool.query('create schema copy_of_agents');
  expect(rows).toEqual([]);
  // A read model that another process is building does not prevent the verification of the others.
  const guard = await connectCopy(service.databaseUrl);
  try {
    await holdCopy(guard, 'advertisers');
    // A schema that is not registered is not treated as a copy: it is recreated.
    const busy = await exchange(['read-models', 'verify', 'advertisers', 'agents'], service.stores);
    expect([busy.status, await leftovers()]).toEqual([2, 0]);
    expect(busy.stderr).toContain('advertisers: another process is building a copy');
    expect(busy.stdout).toMatch(/^agents: .* 0 differences/);
  } finally {
    await guard.end();
  }
  const offline = await exchange(['read-models', 'rebuild', '--offline'], service.stores);
  expect([offline.status, offline.stderr]).toEqual([1, expect.stringContaining('stop them, then rebuild')]);
});

/** Restores the log after the copy was filled, while the checkpoint is locked. */
const putBack = (calls: number): OnlineOptions => {
  let left = calls;
  const head = async () => ((left -= 1) >= 0 ? service.store.head() : START);
  // As of a store that knows only this end.
  const distance = (from: Position, to: Position) => (to === START ? -1 : service.store.distance(from, to));
  return { ...optionsOf(), store: { ...service.store, head, distance } };
};

it('a log that ends before the live position, or another log, is never used', async () => {
  const live = await oidOf('advertisers');
  await expect(rebuildOnline(putBack(0), advertisersProjection)).rejects.toThrow('the log ends at -');
  await expect(verifyOnline(putBack(0), advertisersProjection)).rejects.toThrow('the log ends at -');
  // Positions of one kind of store may mean nothing to another.
  const anothers = { ...optionsOf(), store: createMemoryEventStore() };
  await expect(verifyOnline(anothers, advertisersProjection)).rejects.toThrow(
    /the log ends at -|made from another event store/,
  );
  expect(await leftovers()).toBe(0);
  for (const calls of [1, 2]) {
    await expect(rebuildOnline(putBack(calls), advertisersProjection)).rejects.toThrow('the log ends at -');
    expect([await oidOf('advertisers'), await leftovers()]).toEqual([live, 2]);
  }
  // A copy is continued only for the same log, program and tables, and after the live read model's position.
  const first = await service.store.readAll({ after: START, limit: 1 });
  const other = first.map((event) => ({ ...event, id: '00000000-0000-4000-8000-000000000000' }));
  const overOther = { ...service.store, readAll: async () => other };
  expect((await verifyOnline({ ...optionsOf(), store: overOther }, advertisersProjection)).resumed).toBe(
    false,
  );
  for (const sql of [
    `update copy_of_advertisers.projection_checkpoints set position = '9007199254740991'`,
    'grant select on advertisers to public',
    'select 1',
  ]) {
    await expect(rebuildOnline(putBack(2), advertisersProjection)).rejects.toThrow('the log ends at -');
    await service.pool.query(sql);
    const { resumed, differences } = await verifyOnline(optionsOf(), advertisersProjection);
    expect([sql, resumed, differences]).toEqual([sql, sql === 'select 1', 0]);
  }
  await service.pool.query('revoke select on advertisers from public');
  const older = { ...optionsOf(), migrations: ['0.2-event-log'] };
  await expect(rebuildOnline(older, advertisersProjection)).rejects.toThrow('does not know (');
}, 120_000);

it('an interrupted copy without an index gets it before the switch', async () => {
  const indexesOf = (schema: string) =>
    service.pool.query<{ name: string }>(
      `select indexrelid::regclass::text as name from pg_index
       where indrelid = $1::regclass and not indisunique order by 1`,
      [`${schema}.advertisers`],
    );
  const before = (await indexesOf('public')).rows;
  await expect(rebuildOnline(putBack(2), advertisersProjection)).rejects.toThrow('the log ends at -');
  for (const { name } of (await indexesOf('copy_of_advertisers')).rows) {
    await service.pool.query(`drop index ${name}`);
  }
  expect(await rebuildOnline(optionsOf(), advertisersProjection)).toMatchObject({ resumed: true });
  expect(before.length).toBeGreaterThan(0);
  expect((await indexesOf('public')).rows).toEqual(before);
}, 120_000);

it('a table that the projection does not list is not found, and the live one is not written', async () => {
  const before = await one('select sum(count)::int as sum from advertiser_counts');
  const { compared: _, ...ordinary } = advertisersProjection;
  const forgetful = { ...ordinary, tables: ['advertisers'] };
  await expect(rebuildOnline(optionsOf(), forgetful)).rejects.toThrow('"advertiser_counts" does not exist');
  expect(await one('select sum(count)::int as sum from advertiser_counts')).toEqual(before);

  // Cancelled while another process is building: its copy stays.
  const guard = await connectCopy(service.databaseUrl);
  try {
    await holdCopy(guard, 'advertisers');
    const ending = new AbortController();
    const refused = rebuildOnline(optionsOf(ending.signal), advertisersProjection);
    ending.abort(new Error('cancelled'));
    await expect(refused).rejects.toThrow('another process is building a copy');
    expect(await leftovers()).toBe(2);
  } finally {
    await guard.end();
  }
  expect(await cancelOnline(service.databaseUrl, 'advertisers')).toBe(true);
});

it('a stream that the live read model has parked is retried first, although no row lists its work', async () => {
  const oid = await oidOf('syndications');
  const listed = (await service.readLog()).find((event) => event.stream.startsWith('syndication-'));
  await service.pool.query(
    `insert into parked_streams (projection, stream, customer_id, position, revision, event_type, error, attempts)
     values ('syndication', $1, 1, '-', 0, $2, 'mended since', 1)`,
    [listed?.stream, listed?.type],
  );
  await expect(rebuildOnline(optionsOf(), syndicationProjection, true)).rejects.toThrow(
    'parked retry syndication',
  );
  await service.pool.query('delete from parked_streams');
  expect([await oidOf('syndications'), await cancelOnline(service.databaseUrl, 'syndication')]).toEqual([
    oid,
    true,
  ]);
});

/** `work` runs before the copy meets the live read model for the `n`-th time: 1 to compare, 2 to switch. */
const beforeMeeting = (n: 1 | 2, work: () => Promise<unknown>): OnlineOptions => {
  let asked = 0;
  const head = async () => {
    if ((asked += 1) === 2 * n) await work();
    return service.store.head();
  };
  return { ...optionsOf(), store: { ...service.store, head } };
};

/** Waits until a connection of that name waits for a lock. */
const untilWaiting = async (applicationName: string): Promise<void> => {
  const waiting = `select count(*)::int as waiting from pg_locks l join pg_stat_activity a using (pid)
     where not l.granted and a.datname = current_database() and a.application_name like $1`;
  while ((await one<{ waiting: number }>(waiting, [applicationName])).waiting === 0) await sleep(20);
};

it('the live tables are locked last, and their rights must be unchanged', async () => {
  const holder = await service.pool.connect();
  try {
    const atCopy = beforeMeeting(2, () =>
      holder.query('begin; lock table copy_of_advertisers.advertisers in share mode'),
    );
    const rebuilt = rebuildOnline(atCopy, advertisersProjection);
    await untilWaiting('exchange-copy by %');
    // While a lock on the copy's tables is awaited, the live tables stay available.
    await service.pool.query('select count(*) from advertisers, advertiser_counts');
    await holder.query('rollback');
    expect((await rebuilt).differences).toBe(0);

    const granting = beforeMeeting(2, () => holder.query('grant select on advertisers to public'));
    await expect(rebuildOnline(granting, advertisersProjection)).rejects.toThrow('have changed since');
    await holder.query('revoke select on advertisers from public');
    expect(await cancelOnline(service.databaseUrl, 'advertisers')).toBe(true);
  } finally {
    holder.release(true);
  }
});

it('a comparison ends immediately when it is cancelled or when another connection waits for an exclusive lock', async () => {
  const [holder, wanting] = [await service.pool.connect(), await connectCopy(service.databaseUrl)];
  try {
    for (const how of ['cancelled', 'run it again']) {
      const ending = new AbortController();
      // When the copy is filled, the comparison reads one table and waits for the other.
      const options = beforeMeeting(1, () =>
        holder.query('begin; lock table advertiser_counts in access exclusive mode'),
      );
      const compared = verifyOnline({ ...options, signal: ending.signal }, advertisersProjection);
      const refused = expect(compared).rejects.toThrow(how);
      await untilWaiting('exchange-copy advertisers');
      if (how === 'cancelled') ending.abort(new Error('cancelled'));
      else await wanting.query('begin; lock table advertisers in access exclusive mode; rollback');
      await refused;
      await holder.query('rollback');
    }
    expect(await cancelOnline(service.databaseUrl, 'advertisers')).toBe(true);
  } finally {
    holder.release(true);
    await wanting.end();
  }
});

it('killed -9 at every step: the live read model is unchanged, the next run continues, and --cancel drops the rest', async () => {
  const live = await oidOf('advertisers');
  const rebuild = (failpoints: string, ...more: string[]) =>
    exchange(['read-models', 'rebuild', 'advertisers', ...more], {
      ...service.stores,
      ...(failpoints === '' ? {} : { EXCHANGE_FAILPOINTS: failpoints }),
    });
  // The log is the same in all runs: events copied before a kill are not copied again.
  for (const failpoints of ['copy-created:1', 'projection-before-commit:1', 'copy-before-switch:1']) {
    expect((await rebuild(failpoints)).status).toBe(null);
    expect([await oidOf('advertisers'), await leftovers()]).toEqual([live, 2]);
  }
  expect((await rebuild('', '--cancel')).stdout).toContain('dropped the copy of an earlier run');
  expect([await oidOf('advertisers'), await leftovers()]).toEqual([live, 0]);

  expect((await rebuild('copy-in-switch:1')).status).toBe(null);
  expect([await oidOf('advertisers'), await leftovers()]).toEqual([live, 2]);
  const { status, stdout } = await rebuild('');
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(/resumed from an earlier run; .* 0 differences/),
  ]);
  expect(await oidOf('advertisers')).not.toBe(live);
  expect((await account.api.get(`/advertisers/${ids[0]}`)).status).toBe(200);
  expect(await leftovers()).toBe(0);
}, 120_000);

it('a copy that parks other streams than the live one replaces it only on request', async () => {
  const [parked] = ids.slice(40);
  const stream = advertiserStream(account.customerId, parked ?? 0);
  await service.store.append(stream, [{ ...sampleEvent(), type: 'FromTheFuture' }], 'any');
  await account.api.put(`/advertisers/${parked}`, { name: 'Not in the list' });
  for (const id of ids.slice(60, 80))
    await account.api.put(`/advertisers/${id}`, { name: `Once more ${id}` });
  await account.api.get('/advertisers?take=1');
  const written = await verifyOnline(optionsOf(), advertisersProjection);
  const streams = written.tables.at(-1);
  expect([differing(written), streams]).toEqual([
    [],
    expect.objectContaining({ table: 'parked_streams', rows: 1 }),
  ]);
  expect(written.rows).toBeGreaterThan(ADVERTISERS);

  // A copy must not replace the live read model, except on request, if it parks a stream that the live one contains.
  // The same holds if it parks a stream earlier, or parks one that the live one has not parked.
  await service.pool.query(`update parked_streams set revision = revision + 1 where stream = $1`, [stream]);
  await expect(rebuildOnline(optionsOf(), advertisersProjection)).rejects.toThrow('has parked streams');
  await service.pool.query(`delete from parked_streams where stream = $1`, [stream]);
  await expect(rebuildOnline(optionsOf(), advertisersProjection)).rejects.toThrow('--allow-parked');
  const allowed = await rebuildOnline(optionsOf(), advertisersProjection, true);
  expect([allowed.differences, allowed.resumed]).toEqual([1, true]);
  expect(await one('select stream from parked_streams')).toEqual({ stream });
});

it('a cancelled rebuild leaves nothing, and the live read model is unchanged', async () => {
  const live = await oidOf('advertisers');
  const ending = new AbortController();
  const options = { ...optionsOf(ending.signal), onProgress: () => ending.abort(new Error('cancelled')) };
  await expect(rebuildOnline(options, advertisersProjection)).rejects.toThrow('cancelled');
  expect([await oidOf('advertisers'), await leftovers()]).toEqual([live, 0]);
});
