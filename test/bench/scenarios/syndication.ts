import { Client } from 'pg';
import { sleep } from '../../../shared/async/backoff.ts';
import { apiOf, type Api } from '../../support/api-client.ts';
import { startOwnRedis } from '../../support/own-redis.ts';
import { openBareJobs } from '../bare-jobs.ts';
import { runSql } from '../bench-database.ts';
import { startChildServer } from '../child-server.ts';
import { fillRecords, type FilledRecords } from '../fill-records.ts';
import { httpLoad, rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { createAccount, startService } from '../service-process.ts';
import { startOwnService, type OwnService } from '../stage.ts';
import { steadyRate } from '../steady-rate.ts';
import { authorized } from './advertiser-requests.ts';
import { middlePage } from './middle-page.ts';
import type { Bench, Scenario } from './scenario.ts';

/** The effects of a toggle, its cost while the queue does not answer, and lists of many records. */

/** Jobs that one worker process runs at the same time (`app/worker.ts`). */
const CONCURRENCY = 50;
/** Enough accounts that the limit per account does not bound the rate. */
const ACCOUNTS = 6;
const AGENTS = 10;
const SOURCES_MAX = 50;

interface Buyer {
  readonly api: Api;
  readonly headers: Readonly<Record<string, string>>;
  readonly agentIds: readonly string[];
}

/** Event sources that can be toggled, and their advertiser. */
interface Sources {
  readonly advertiser: string;
  readonly ids: readonly string[];
}

const openBuyer = async (
  own: Pick<OwnService, 'service' | 'customerId' | 'apiKey'>,
  agentUrl: string,
): Promise<Buyer> => {
  const headers = authorized(own);
  const api = apiOf(`http://127.0.0.1:${own.service.port}`, headers);
  const agentIds: string[] = [];
  for (let n = 0; n < AGENTS; n++) {
    const body = { name: `Agent ${n}`, url: agentUrl, protocol: 'MCP', accountId: `acct-${n}` };
    agentIds.push((await api.post<{ id: string }>('/adcp-agents', body)).body.data.id);
  }
  return { api, headers, agentIds };
};

/**
 * Creates event sources, at most `SOURCES_MAX`, of a new advertiser. One advertiser for all rounds would exceed its
 * limit of 500.
 */
const newSources = async ({ api }: Buyer, count: number): Promise<Sources> => {
  const created = await api.post<{ id: number }>('/advertisers', { name: 'Bench' });
  const advertiser = String(created.body.data.id);
  const ids = Array.from({ length: count }, () => `source-${(sources += 1)}`);
  const synced = await api.post<{ event_sources: readonly { action: string }[] }>(
    `/advertisers/${advertiser}/event-sources/sync`,
    {
      account: { account_id: advertiser },
      event_sources: ids.map((event_source_id) => ({ event_source_id })),
    },
  );
  // A sync succeeds even if one of its items exceeds the limit and fails.
  const made = synced.status === 200 ? synced.body.data.event_sources : [];
  if (made.filter(({ action }) => action === 'created').length < count) {
    throw new Error(`not all event sources were created: ${synced.text}`);
  }
  return { advertiser, ids };
};
let sources = 0;
const NONE: Sources = { advertiser: '', ids: [] };

const switchOn = async ({ api, agentIds }: Buyer, { advertiser, ids }: Sources): Promise<void> => {
  for (const resourceId of ids) {
    const body = { resourceId, adcpAgentIds: agentIds, enabled: true };
    const answer = await api.post(`/advertisers/${advertiser}/syndicate`, body);
    if (answer.status !== 201) throw new Error(`a toggle was refused: ${answer.text}`);
  }
};

/** Records from PENDING to COMPLETED, including their events, against BullMQ's own jobs. */
export const syndications: Scenario = async (bench) => {
  const agent = await startChildServer('bare-agent.js', {});
  bench.atEnd(() => agent.stop());
  const agentUrl = `http://127.0.0.1:${agent.port}/mcp`;
  const redisUrl = process.env['REDIS_URL'];
  const backends = redisUrl === undefined || redisUrl === '' ? [undefined] : [undefined, redisUrl];
  const lines: Line[] = [];
  for (const backend of backends) lines.push(...(await jobRatesOn(bench, agentUrl, backend)));
  return lines;
};

const jobRatesOn = async (
  bench: Bench,
  agentUrl: string,
  redisUrl: string | undefined,
): Promise<readonly Line[]> => {
  const { url } = await bench.createDatabase();
  const environment = {
    DATABASE_URL: url,
    NODE_ENV: 'test',
    OUTBOUND_ALLOW_LOOPBACK: 'true',
    REDIS_URL: redisUrl ?? '',
    REDIS_KEY_PREFIX: `bench-${process.pid}-ours:`,
  };
  const service = await startService({ ...environment, ROLES: 'api,projector' });
  bench.atEnd(() => service.kill());
  const worker = await startService({ ...environment, ROLES: 'worker' });
  bench.atEnd(() => worker.kill());
  const buyers: Buyer[] = [];
  for (let n = 0; n < ACCOUNTS; n++) {
    buyers.push(await openBuyer({ service, ...(await createAccount(environment)) }, agentUrl));
  }
  const sourcesEach = bench.quick ? 5 : 50;
  // All toggles exist before the first job runs, as all bare jobs are added before.
  const ours = async (all: readonly Buyer[]): Promise<number> => {
    const made = await Promise.all(all.map((buyer) => newSources(buyer, sourcesEach)));
    const [row] = (await runSql(url, 'select now() as now')) as [{ now: Date }];
    process.kill(worker.pid, 'SIGSTOP');
    try {
      await Promise.all(all.map((buyer, n) => switchOn(buyer, made[n] ?? NONE)));
    } finally {
      process.kill(worker.pid, 'SIGCONT');
    }
    return steadyRate(await completed(url, row.now, sourcesEach * AGENTS * all.length));
  };
  const jobs = sourcesEach * AGENTS * ACCOUNTS;
  const bare = await openBareJobs({ databaseUrl: url, redisUrl, concurrency: CONCURRENCY, agentUrl });
  const idle = await openBareJobs({ databaseUrl: url, redisUrl, concurrency: CONCURRENCY });
  const store = redisUrl === undefined ? 'Postgres' : 'Redis';
  const alone = buyers.slice(0, 1);
  try {
    return [
      lineOf({
        name: `syndications, ${ACCOUNTS} accounts, jobs in ${store}`,
        unit: '/s',
        ...(await alternate(
          bench.rounds,
          () => ours(buyers),
          () => bare.rate(jobs),
        )),
        baselineName: 'BullMQ, jobs that call the agent',
        goal: 0.7,
      }),
      lineOf({
        name: `syndications, 1 account, jobs in ${store}`,
        unit: '/s',
        ...(await alternate(
          bench.rounds,
          () => ours(alone),
          () => idle.rate(jobs),
        )),
        baselineName: 'BullMQ, jobs that do nothing',
        note: 'ten at once of one account',
      }),
    ];
  } finally {
    await bare.close();
    await idle.close();
    await worker.stop();
    await service.stop();
  }
};

const COMPLETED_S_MAX = 300;

/** The completion times, in ms. The polling query is cheap: its cost would count as the service's. */
const completed = async (url: string, since: Date, count: number): Promise<readonly number[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  const from = `from syndication_records where status = 'COMPLETED' and updated_at >= $1`;
  const isWaiting = async (): Promise<boolean> =>
    ((await client.query(`select from work_list where kind = 'syndication' limit 1`)).rowCount ?? 0) > 0;
  try {
    const endMs = performance.now() + COMPLETED_S_MAX * 1000;
    while (performance.now() < endMs) {
      await sleep(200);
      if (await isWaiting()) continue;
      const { rows } = await client.query<{ n: number }>(`select count(*)::int as n ${from}`, [since]);
      if ((rows[0]?.n ?? 0) >= count) break;
    }
    const { rows } = await client.query<{ at: number }>(
      `select extract(epoch from updated_at)::float8 * 1000 as at ${from}`,
      [since],
    );
    if (rows.length >= count) return rows.map(({ at }) => at);
  } finally {
    await client.end();
  }
  throw new Error(`${count} records were not completed within ${COMPLETED_S_MAX} s`);
};

const TOGGLERS = 8;

/** The answer time of a slow agent, in ms. */
const SLOW_MS = 3_000;

/**
 * Redis holds jobs and counts requests. A toggle must take equally long with and without it, and with slow and fast
 * agents.
 */
export const togglesWithoutQueue: Scenario = async (bench) => {
  const redis = await startOwnRedis();
  bench.atEnd(() => redis.stop());
  const { url } = await bench.createDatabase();
  const environment = {
    DATABASE_URL: url,
    NODE_ENV: 'test',
    OUTBOUND_ALLOW_LOOPBACK: 'true',
    REDIS_URL: redis.url,
  };
  const service = await startService(environment);
  bench.atEnd(() => service.kill());
  const own = { service, ...(await createAccount(environment)) };
  const prompt = await openToggles(bench, own, 0);
  const slow = await openToggles(bench, own, SLOW_MS);
  const p99Ms = async (request: () => string): Promise<number> => {
    const seconds = Math.max(2, bench.seconds);
    const load = await httpLoad({ port: service.port, connections: TOGGLERS, seconds, request });
    if (load.failed > 0) throw new Error(`${load.failed} toggles failed`);
    return load.p99Ms;
  };
  const stalled = async (): Promise<number> => {
    redis.stall();
    // The first requests detect the failure. The later ones are measured.
    await httpLoad({ port: service.port, connections: 1, seconds: 1, request: prompt });
    return p99Ms(prompt).finally(() => redis.resume());
  };
  const compare = async (what: string, ours: () => Promise<number>, baselineName: string): Promise<Line> =>
    lineOf({
      name: `toggle, p99, ${TOGGLERS} connections, ${what}`,
      unit: 'ms',
      ...(await alternate(bench.rounds, ours, () => p99Ms(prompt))),
      baselineName,
      goal: 1.3,
      atMost: true,
    });
  const lines = [
    await compare('queue stalled', stalled, 'queue fine'),
    await compare(`agents that take ${SLOW_MS / 1_000} s`, () => p99Ms(slow), 'agents that answer at once'),
  ];
  await service.kill();
  return lines;
};

/** Toggles some event sources at an agent, alternately on and off. */
const openToggles = async (
  bench: Bench,
  own: Pick<OwnService, 'service' | 'customerId' | 'apiKey'>,
  answerMs: number,
): Promise<() => string> => {
  const agent = await startChildServer('bare-agent.js', { ANSWER_MS: String(answerMs) });
  bench.atEnd(() => agent.stop());
  const buyer = await openBuyer(own, `http://127.0.0.1:${agent.port}/mcp`);
  const { advertiser, ids } = await newSources(buyer, SOURCES_MAX);
  let n = 0;
  return () => {
    const resourceId = ids[n % ids.length];
    const enabled = Math.floor(n++ / ids.length) % 2 === 0;
    const body = JSON.stringify({ resourceId, adcpAgentIds: buyer.agentIds.slice(0, 1), enabled });
    const headers = { 'Content-Type': 'application/json', ...buyer.headers };
    return rawRequest('POST', `/api/v2/buyer/advertisers/${advertiser}/syndicate`, headers, body);
  };
};

const READERS = 8;
const pageRequest = ({ own, advertiserId }: FilledService, query: string): string =>
  rawRequest('GET', `/api/v2/buyer/advertisers/${advertiserId}/syndication-status?${query}`, authorized(own));

const FEW = 10_000;

/** The same queries of few and of many records, each on its own database. */
export const statusLists: Scenario = async (bench) => {
  const small = await filled(bench, FEW);
  const large = await filled(bench, bench.growTo);
  const size = bench.growTo.toLocaleString('en');
  const lines: Line[] = [];
  const compare = async (name: string, query: (of: FilledService) => string): Promise<void> => {
    const msOf = async (of: FilledService): Promise<number> => {
      const { port } = of.own.service;
      const request = (): string => pageRequest(of, query(of));
      const load = await httpLoad({ port, connections: READERS, seconds: bench.seconds, request });
      if (load.failed > 0) throw new Error(`${load.failed} answers were not 2xx`);
      return (READERS * 1000) / load.perSecond;
    };
    lines.push(
      lineOf({
        name: `GET syndication-status, ${name}, ${size} records`,
        unit: 'ms',
        ...(await alternate(
          bench.rounds,
          () => msOf(large),
          () => msOf(small),
        )),
        baselineName: `${FEW.toLocaleString('en')} records`,
        goal: 1.3,
        atMost: true,
      }),
    );
  };
  const page = (): string =>
    `limit=${50 - Math.floor(Math.random() * 20)}&offset=${Math.floor(Math.random() * 500)}`;
  await compare('among the first pages', page);
  await compare(
    'resourceType that is rare',
    () => `resourceType=CATALOG&limit=${20 + Math.floor(Math.random() * 30)}`,
  );
  await compare(
    'enabled=false that is rare',
    () => `enabled=false&limit=${20 + Math.floor(Math.random() * 30)}`,
  );
  await compare('enabled=true that is common', () => `enabled=true&${page()}`);
  await compare(
    'one agent, status, type',
    ({ agentId }) => `adcpAgentId=${agentId}&status=COMPLETED&${page()}`,
  );
  await compare('one resource', () => `resourceId=r-${1 + Math.floor(Math.random() * 2_000)}`);
  await compare('among the last pages', ({ count }) => {
    const offset = count - 550 + Math.floor(Math.random() * 500);
    return `limit=50&offset=${offset}`;
  });
  for (const filter of ['', 'enabled=true&']) {
    lines.push(
      await middlePage(
        bench,
        `GET syndication-status, ${filter === '' ? '' : 'enabled=true, '}in the middle, ${size} records`,
        large.own.service.port,
        () => {
          const offset = Math.floor(large.count / 2) - 250 + Math.floor(Math.random() * 500);
          return pageRequest(large, `${filter}limit=50&offset=${offset}`);
        },
      ),
    );
  }
  return lines;
};

interface FilledService extends FilledRecords {
  readonly own: OwnService;
  readonly count: number;
}

const filled = async (bench: Bench, count: number): Promise<FilledService> => {
  const own = await startOwnService(bench);
  const api = apiOf(`http://127.0.0.1:${own.service.port}`, authorized(own));
  const created = await api.post<{ id: number }>('/advertisers', { name: 'Bench' });
  const advertiserId = created.body.data.id;
  const records = await fillRecords(own.databaseUrl, { customerId: own.customerId, advertiserId, count });
  return { own, count, ...records };
};
