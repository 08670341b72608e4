import { availableParallelism, loadavg } from 'node:os';
import type { Pool } from 'pg';
import { ATTEMPTS_MAX } from '../../command/workers/syndication/syndication-work.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import type { SyndicationResource } from '../../domain/syndication/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { readConfig } from '../../app/config.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { apiOf } from '../support/api-client.ts';
import { startOwnRedis } from '../support/own-redis.ts';
import { startSandboxAgent, type Behaviour, type SandboxAgent } from '../support/sandbox-agent.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createRandom, type Random } from './kit/random.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';
import { postUntilDone, setUp, syncSources, toggleSome, type Buyer } from './kit/syndicating-buyer.ts';
import { checkSyndication, recordsOf, settle, type SyndicationFindings } from './kit/syndication-checks.ts';

export interface SyndicationRunOptions {
  readonly seed: number;
  readonly jobs: 'postgres' | 'redis';
  readonly toggles: number;
  readonly kills: number;
  /** Records that one account enables at slow agents before another account enables a few. */
  readonly crowd: number;
  /** The maximum duration of toggles and kills, in s. */
  readonly secondsMax?: number;
}

export interface SyndicationRunReport {
  /** Counts of executed disruptions. */
  readonly toggles: number;
  readonly kills: number;
  /** Kills of the process that runs the API and the read models. */
  readonly apiKills: number;
  /** Kills during a call to an agent. */
  readonly killsDuringCall: number;
  readonly flushes: number;
  readonly records: Readonly<Record<string, number>>;
  readonly generations: number;
  /** Calls that agents accepted, and the first ones of each key among them. */
  readonly calls: number;
  readonly effects: number;
  /**
   * Time from toggle to COMPLETED at p95, in ms: for an account alone, and for one that follows another account's
   * crowd.
   */
  readonly afterCrowd: {
    readonly crowd: number;
    readonly records: number;
    readonly aloneMs: number;
    readonly crowdedMs: number;
    readonly wasBusy: boolean;
  };
  /** Duration of each phase, in ms. */
  readonly tookMs: Readonly<Record<string, number>>;
  /** Calls that were followed as tasks. */
  readonly followed: number;
  /** Work that still waited 60 s after the end. On a busy machine it may only be slow; `stuck` is a finding. */
  readonly waitingAfter60s: readonly string[];
  /** During those 60 s, more processes were runnable than there are processors. */
  readonly wasBusy: boolean;
  /** Each must be empty or 0. */
  readonly findings: SyndicationFindings & {
    /** Work that still waits five minutes after the end. */
    readonly stuck: readonly string[];
  };
}

/** Time from a worker's first job until it is killed. */
const ALIVE_MS = { min: 100, max: 500 };
const SETTLE_MS_MAX = 60_000;
/** Work that still waits after this time is stuck, even on a busy machine. */
const STUCK_MS_MIN = 300_000;

/**
 * Toggles resources at three agents while workers are killed, the queue is emptied and agents misbehave. Then it
 * compares the results.
 */
export const syndicationRun = async (options: SyndicationRunOptions): Promise<SyndicationRunReport> => {
  const random = createRandom(options.seed);
  const tookMs: Record<string, number> = {};
  let began = performance.now();
  const over = (phase: string): void => {
    tookMs[phase] = Math.round(performance.now() - began);
    began = performance.now();
  };
  const database = await createTestDatabase();
  const redis = options.jobs === 'redis' ? await startOwnRedis() : undefined;
  const environment = {
    DATABASE_URL: database.url,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
    OUTBOUND_ALLOW_LOOPBACK: 'true',
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  };
  const installation = await openWithLongTimeouts(readConfig(environment), 'faults');
  await installation.migrate();
  const account = await createAccount(installation, 'A');
  const roles = ['api,projector', 'worker', 'worker'];
  const supervisor = await startSupervisor(
    roles.map((role) => ({ ROLES: role })),
    environment,
  );
  const agents = await Promise.all([1, 2, 3].map((n) => startSandboxAgent(`token-of-agent-${n}`)));
  try {
    await supervisor.ready();
    const api = apiOf(`http://127.0.0.1:${supervisor.ports[0]}`, {
      Authorization: `Bearer ${account.apiKey}`,
    });
    const buyer = await setUp(api, agents);
    over('opening');
    const empty = async (): Promise<void> =>
      redis === undefined ? emptyPostgresQueue(installation.pool) : redis.flush();
    const { wanted, ...done } = await disrupt({ ...options, supervisor, buyer, random, empty }, () =>
      countSyncing(installation.pool),
    );
    over('breaking');
    // The tasks of an agent that finishes later must be followed while workers run.
    const last = (n: number): Behaviour =>
      n === 0 ? { mode: 'submitted', delayMs: 4_000 } : { mode: 'works', delayMs: 0 };
    await Promise.all(agents.map((agent, n) => agent.behave(last(n))));
    await supervisor.ready();
    await hastenWithdrawals(installation.pool);
    const waitingAfter60s = await settle(installation.pool, SETTLE_MS_MAX);
    const wasBusy = isBusy();
    const stuck = await settle(installation.pool, STUCK_MS_MIN - SETTLE_MS_MAX);
    over('settling');
    const { records, streams, states, findings } = await checkSyndication(installation, buyer, wanted);
    over('comparing');
    const afterCrowd = await runWithCrowd(installation, supervisor.ports[0], agents, options.crowd);
    over('crowd');
    return {
      tookMs,
      waitingAfter60s,
      wasBusy,
      ...done,
      records: countBy(records.map(({ status }) => status)),
      generations: countOf(streams, 'SyndicationToggled'),
      followed: countOf(streams, 'SyndicationSubmitted'),
      calls: states.flatMap(({ calls }) => calls).length,
      effects: states.flatMap(({ effects }) => effects).length,
      afterCrowd,
      findings: {
        stuck,
        ...findings,
      },
    };
  } finally {
    await supervisor.stop();
    await Promise.all(agents.map((agent) => agent.stop()));
    await installation.close();
    await redis?.stop();
    await database.drop();
  }
};

/** Mostly working modes: otherwise nothing would ever complete. */
const MODES: readonly Behaviour['mode'][] = ['works', 'works', 'submitted', 'submitted', 'slow', 'busy'];

/** The index of the API process; it is killed with every fifth kill of a worker. */
const API = 0;
const API_KILL_EVERY = 5;

interface DisruptOptions extends Pick<SyndicationRunOptions, 'toggles' | 'kills' | 'secondsMax'> {
  readonly supervisor: Supervisor;
  readonly buyer: Buyer;
  readonly random: Random;
  /** Deletes all jobs. */
  readonly empty: () => Promise<void>;
}

interface Disruptions extends Pick<
  SyndicationRunReport,
  'toggles' | 'kills' | 'apiKills' | 'killsDuringCall' | 'flushes'
> {
  /** The last requested state, keyed by record. */
  readonly wanted: ReadonlyMap<string, boolean>;
}

/**
 * Toggles continuously, and meanwhile kills one worker after the other, each as soon as it has jobs again. Halfway it
 * empties the queue.
 */
const disrupt = async (
  { toggles, kills, secondsMax = Infinity, supervisor, buyer, random, empty }: DisruptOptions,
  countSyncingNow: () => Promise<number>,
): Promise<Disruptions> => {
  const wanted = new Map<string, boolean>();
  const endMs = performance.now() + secondsMax * 1_000;
  let [kill, toggled, apiKills, killsDuringCall, flushes] = [0, 0, 0, 0, 0];
  while (kill < kills && performance.now() < endMs) {
    kill += 1;
    const [from, to] = [kill - 1, kill].map((n) => Math.round((n * toggles) / kills));
    const worker = 1 + (kill % 2);
    const killOne = async (): Promise<void> => {
      await supervisor.partReady(worker, 'queue');
      await sleep(ALIVE_MS.min + random.below(ALIVE_MS.max - ALIVE_MS.min));
      if ((await countSyncingNow()) > 0) killsDuringCall += 1;
      supervisor.kill(worker);
      if (kill % API_KILL_EVERY === 0) {
        supervisor.kill(API);
        apiKills += 1;
      }
      if (kill === Math.ceil(kills / 2)) {
        await empty();
        flushes += 1;
      }
      await random.pick(buyer.agents).agent.behave({ mode: random.pick(MODES), delayMs: 1_000 });
    };
    await Promise.all([toggleSome(buyer, random, from ?? 0, to ?? 0, wanted), killOne()]);
    toggled = to ?? 0;
  }
  return { wanted, toggles: toggled, kills: kill, apiKills, killsDuringCall, flushes };
};

const countSyncing = async (pool: Pool): Promise<number> =>
  (
    await pool.query<{ n: number }>(
      `select count(*)::int as n from syndication_records where status = 'SYNCING'`,
    )
  ).rows[0]?.n ?? 0;

const emptyPostgresQueue = async (pool: Pool): Promise<void> => {
  await pool.query('delete from bullmq.job');
};

/** In the last minute, more processes were runnable than there are processors. */
const isBusy = (): boolean => (loadavg()[0] ?? 0) > availableParallelism();

const CROWD_AGENT_MS = 500;
const AFTER_CROWD_MS_MAX = 60_000;

/** One account enables many records at slow agents, then another account enables a few at the same agents. */
const runWithCrowd = async (
  installation: Installation,
  port: number | undefined,
  agents: readonly SandboxAgent[],
  crowd: number,
): Promise<SyndicationRunReport['afterCrowd']> => {
  await Promise.all(agents.map((agent) => agent.behave({ mode: 'slow', delayMs: CROWD_AGENT_MS })));
  const open = async (name: string, sources: number): Promise<Buyer> => {
    const { apiKey } = await createAccount(installation, name);
    const api = apiOf(`http://127.0.0.1:${port}`, { Authorization: `Bearer ${apiKey}` });
    return setUp(
      api,
      agents,
      Array.from({ length: sources }, (_, n) => `source-${n}`),
    );
  };
  const sources = Math.ceil(crowd / agents.length);
  const few = await open('Few', 2 * FEW);
  const first = await open('Many', Math.min(sources, ADVERTISER_SOURCES));
  const many = [first];
  for (let from = ADVERTISER_SOURCES; from < sources; from += ADVERTISER_SOURCES) {
    many.push(await anotherAdvertiser(first, from, Math.min(sources, from + ADVERTISER_SOURCES)));
  }
  await switchOn(few, 0, FEW, 1);
  const aloneMs = p95(await allCompleted(few));
  for (const [n, buyer] of many.entries()) {
    const from = n * ADVERTISER_SOURCES;
    await switchOn(buyer, from, Math.min(sources - from, ADVERTISER_SOURCES), 8);
  }
  await switchOn(few, FEW, FEW, 1);
  const records = await allCompleted(few);
  const crowdedMs = p95(records.filter(({ resourceId }) => Number(resourceId.slice(7)) >= FEW));
  return {
    crowd: sources * agents.length,
    records: records.length / 2,
    aloneMs,
    crowdedMs,
    wasBusy: isBusy(),
  };
};

/** The maximum of one advertiser. */
const ADVERTISER_SOURCES = 500;

/**
 * Adds an advertiser of the same account, with other event source ids: at an agent, an id belongs to one advertiser.
 */
const anotherAdvertiser = async (buyer: Buyer, from: number, to: number): Promise<Buyer> => {
  const { api } = buyer;
  const { id } = await postUntilDone<{ id: number }>(
    api,
    '/advertisers',
    { name: 'Acme' },
    `crowd-of-sources-${from}`,
  );
  const advertiser = String(id);
  const sources = Array.from({ length: to - from }, (_, n) => `source-${from + n}`);
  await syncSources(api, advertiser, sources);
  return { ...buyer, advertiser };
};

/** Event sources that the second account enables each time. */
const FEW = 7;

const allCompleted = async (buyer: Buyer): Promise<readonly SyndicationResource[]> => {
  const begun = performance.now();
  for (;;) {
    await sleep(200);
    const records = await recordsOf(buyer);
    const isOver = records.every(({ completedAt }) => completedAt !== null);
    if (isOver || performance.now() - begun > AFTER_CROWD_MS_MAX) return records;
  }
};

const p95 = (records: readonly SyndicationResource[]): number => {
  const tookMs = records
    .map(({ createdAt, completedAt }) => Date.parse(completedAt ?? '9999-01-01') - Date.parse(createdAt))
    .sort((a, b) => a - b);
  return tookMs[Math.ceil(tookMs.length * 0.95) - 1] ?? Infinity;
};

const switchOn = async (
  { api, advertiser, agents }: Buyer,
  from: number,
  sources: number,
  callers: number,
): Promise<void> => {
  const adcpAgentIds = agents.map(({ id }) => id);
  let next = from;
  const call = async (): Promise<void> => {
    for (let n = next++; n < from + sources; n = next++) {
      const body = { resourceId: `source-${n}`, adcpAgentIds, enabled: true };
      for (let tries = 0; ; tries++) {
        const answer = await api.post(`/advertisers/${advertiser}/syndicate`, body);
        if (answer.status === 201) break;
        if (tries > 100) throw new Error(`a toggle never succeeded: ${answer.text}`);
        await sleep(100);
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
};

/** A withdrawal at a busy agent waits long before its next try. This makes the try due now. */
const hastenWithdrawals = async (pool: Pool): Promise<void> => {
  await pool.query(
    `update work_list set due_at = now()
     where kind = 'syndication' and attempts >= $1 and leased_until is null and due_at > now()`,
    [ATTEMPTS_MAX],
  );
};

const countBy = (names: readonly string[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

const countOf = (streams: ReadonlyMap<string, readonly RecordedEvent[]>, wanted: string): number =>
  [...streams.values()].flat().filter(({ type }) => type === wanted).length;
