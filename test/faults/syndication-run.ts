import { availableParallelism, loadavg } from 'node:os';
import type { Pool } from 'pg';
import { ATTEMPTS_MAX } from '../../command/workers/syndication/syndication-work.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { syndicationEvents, type SyndicationEvent } from '../../domain/syndication/events.ts';
import type { SyndicationResource } from '../../domain/syndication/resource.ts';
import { evolve, initialState, type SyndicationState } from '../../domain/syndication/syndication.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { readConfig } from '../../app/config.ts';
import {
  categoryOf,
  START,
  type EventStore,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { apiOf, type Api } from '../support/api-client.ts';
import { startOwnRedis } from '../support/own-redis.ts';
import { startSandboxAgent, type Behaviour, type SandboxAgent } from '../support/sandbox-agent.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createRandom, type Random } from './kit/random.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';
import { legalSteps } from '../support/legal-transitions.ts';

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
  readonly findings: {
    /** Work that still waits five minutes after the end. */
    readonly stuck: readonly string[];
    readonly notInLastState: number;
    readonly illegalTransitions: readonly string[];
    /** Records with their agent. */
    readonly unexpectedAtAgent: readonly string[];
    readonly missingAtAgent: number;
    /** Audiences whose members differ between the agent and the service. */
    readonly otherMembers: number;
    /** Effects of one call after the first. */
    readonly repeatedEffects: number;
    /**
     * Keys of calls for an event source or a catalog that no started generation of a record has. Each generation has
     * one key and each key one effect, so a generation has at most one effect.
     */
    readonly otherKeys: readonly string[];
    /** Records that FAILED for reasons other than the planned behaviour of agents and kills. */
    readonly failed: readonly string[];
  };
}

const SOURCES = ['s1', 's2'] as const;
const CATALOGS = ['c1', 'c2'] as const;
const AUDIENCES = ['a1', 'a2'] as const;
const RESOURCES = [...SOURCES, ...CATALOGS, ...AUDIENCES];
const PEOPLE = 1_500;
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
    const records = await recordsOf(buyer);
    const streams = await historyOf(installation.store);
    const states = await Promise.all(agents.map((agent) => agent.state()));
    const comparison = await compareWithAgents(records, buyer, await membersOf(installation.pool));
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
        notInLastState: records.filter((record) => record.enabled !== wanted.get(keyOf(record))).length,
        illegalTransitions: [...streams.values()].flatMap(illegalTransitionsOf),
        otherKeys: otherKeysOf(
          states.flatMap(({ takes }) => takes),
          streams,
        ),
        failed: records.filter(isUnexplained).map((one) => `${keyOf(one)}: ${one.errorMessage}`),
        ...comparison,
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

/** The maximum of one call in the specification. */
const SYNC_MAX = 50;

interface Buyer {
  readonly api: Api;
  readonly advertiser: string;
  readonly agents: readonly {
    readonly id: string;
    readonly agent: SandboxAgent;
    readonly accountId: string;
  }[];
}

const setUp = async (
  api: Api,
  sandboxes: readonly SandboxAgent[],
  sources: readonly string[] = SOURCES,
): Promise<Buyer> => {
  let calls = 0;
  const post = <Data>(path: string, body: unknown): Promise<Data> =>
    postUntilDone<Data>(api, path, body, `set-up-number-${String((calls += 1)).padStart(6, '0')}`);
  const advertiser = String((await post<{ id: number }>('/advertisers', { name: 'Acme' })).id);
  await syncSources(api, advertiser, sources);
  await post(`/advertisers/${advertiser}/catalogs/sync`, {
    catalogs: CATALOGS.map((catalog_id) => ({ catalog_id, type: 'product', items: [{ sku: '1' }] })),
  });
  await post(`/advertisers/${advertiser}/audiences/sync`, {
    audiences: AUDIENCES.map((audienceId) => ({
      audienceId,
      add: Array.from({ length: PEOPLE }, (_, n) => person(n)),
    })),
  });
  const agents: Buyer['agents'][number][] = [];
  for (const [n, agent] of sandboxes.entries()) {
    const accountId = `acct-${n}`;
    const { id } = await post<{ id: string }>('/adcp-agents', {
      name: `Agent ${n}`,
      ...(n === 0 ? { url: agent.a2aUrl, protocol: 'A2A' } : { url: agent.url, protocol: 'MCP' }),
      auth: { type: 'bearer', token: agent.token },
      accountId,
    });
    agents.push({ id, agent, accountId });
  }
  return { api, advertiser, agents };
};

/** Repeats of one request: a busy machine answers 503. */
const TRIES_MAX = 20;

const postUntilDone = async <Data>(api: Api, path: string, body: unknown, key: string): Promise<Data> => {
  let text = '';
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await api.post<Data>(path, body, { 'Idempotency-Key': key });
    if (answer.status < 300) return answer.body.data;
    text = answer.text;
    await sleep(250);
  }
  throw new Error(`${path} never succeeded: ${text}`);
};

const person = (n: number) => ({ externalId: `p${n}`, hashedEmail: n.toString(16).padStart(64, '0') });

/** Undefined if the process was killed during the call, so that the outcome is unknown. */
const undefinedIfCut = <Answer>(call: Promise<Answer>): Promise<Answer | undefined> =>
  call.catch(() => undefined);
/** A killed process is ready again within this time, also on a busy machine. */
const RESTART_MS_MAX = 120_000;

/** Adds one person and removes one. Repeats both if the outcome is unknown. */
const changeAudience = async ({ api, advertiser }: Buyer, random: Random): Promise<void> => {
  const audienceId = random.pick(AUDIENCES);
  const [come, gone] = [random.below(PEOPLE), random.below(PEOPLE)];
  const remove = come === gone ? [] : [{ externalId: `p${gone}` }];
  const body = { audiences: [{ audienceId, add: [person(come)], remove }] };
  const endMs = performance.now() + RESTART_MS_MAX;
  while (performance.now() < endMs) {
    const answer = await undefinedIfCut(api.post(`/advertisers/${advertiser}/audiences/sync`, body));
    if (answer?.status === 202) return;
    await sleep(100);
  }
  throw new Error('a change of an audience never succeeded');
};

const keyOf = ({
  resourceId,
  adcpAgentId,
}: Pick<SyndicationResource, 'resourceId' | 'adcpAgentId'>): string => `${resourceId}@${adcpAgentId}`;

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

/** The longest pause between two toggles: some records change faster than any agent answers. */
const PAUSE_MS_MAX = 150;

/** @param wanted the last requested state, keyed by record */
const toggleSome = async (
  buyer: Buyer,
  random: Random,
  from: number,
  to: number,
  wanted: Map<string, boolean>,
): Promise<void> => {
  const { api, advertiser, agents } = buyer;
  for (let n = from; n < to; n++) {
    const resourceId = random.pick(RESOURCES);
    const enabled = random.chance(0.6);
    if (random.chance(0.3)) await changeAudience(buyer, random);
    const some = agents.filter(() => random.chance(0.6));
    const adcpAgentIds = (some.length === 0 ? agents.slice(0, 1) : some).map(({ id }) => id);
    const body = { resourceId, adcpAgentIds, enabled };
    const headers = { 'Idempotency-Key': `toggle-number-${String(n).padStart(6, '0')}` };
    const endMs = performance.now() + RESTART_MS_MAX;
    for (;;) {
      const answer = await undefinedIfCut(api.post(`/advertisers/${advertiser}/syndicate`, body, headers));
      if (answer?.status === 201) break;
      // No toggle may be refused permanently.
      if (
        answer !== undefined &&
        answer.status < 500 &&
        answer.body.error?.code !== 'IDEMPOTENCY_IN_FLIGHT'
      ) {
        throw new Error(`a toggle was refused: ${answer.text}`);
      }
      if (performance.now() > endMs) throw new Error(`a toggle never succeeded: ${answer?.text}`);
      await sleep(100);
    }
    for (const adcpAgentId of adcpAgentIds) wanted.set(keyOf({ resourceId, adcpAgentId }), enabled);
    await sleep(random.below(PAUSE_MS_MAX));
  }
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

const syncSources = async (api: Api, advertiser: string, sources: readonly string[]): Promise<void> => {
  for (let from = 0; from < sources.length; from += SYNC_MAX) {
    const body = {
      account: { account_id: advertiser },
      event_sources: sources.slice(from, from + SYNC_MAX).map((event_source_id) => ({ event_source_id })),
    };
    const path = `/advertisers/${advertiser}/event-sources/sync`;
    await postUntilDone(api, path, body, `sources-of-${advertiser}-from-${from}-and-on`);
  }
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

/** @returns the work that still waits after `msMax`, with its list entry and record */
const settle = async (pool: Pool, msMax: number): Promise<readonly string[]> => {
  const waiting = async (): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ said: string }>(
      `select format('%s %s@%s gen %s of %s, due in %s s, leased for %s s, attempts %s, lost %s, asked at %s, %s, submitted %s, because %s',
                r.status, r.resource_id, r.account, w.revision, r.generation,
                round(extract(epoch from w.due_at - now()), 1), round(extract(epoch from w.leased_until - now()), 1),
                w.attempts, w.lost, w.asked_at, w.data, r.body::json -> 'submitted', w.last_error) as said
       from work_list w
       left join syndication_records r on r.customer_id = w.customer_id and r.id = w.key
       where w.kind = 'syndication'`,
    );
    return rows.map(({ said }) => said);
  };
  const endMs = performance.now() + msMax;
  while (performance.now() < endMs && (await waiting()).length > 0) await sleep(200);
  return waiting();
};

/** A busy machine may answer 503 also to reads. */
const recordsOf = async ({ api, advertiser }: Buyer): Promise<readonly SyndicationResource[]> => {
  let text = '';
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await api.get<{ items: SyndicationResource[] }>(
      `/advertisers/${advertiser}/syndication-status?limit=100`,
    );
    if (answer.status === 200) return answer.body.data.items;
    text = answer.text;
    await sleep(250);
  }
  throw new Error(`reading the records never succeeded: ${text}`);
};

const countBy = (names: readonly string[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

const countOf = (streams: ReadonlyMap<string, readonly RecordedEvent[]>, wanted: string): number =>
  [...streams.values()].flat().filter(({ type }) => type === wanted).length;

const historyOf = async (store: EventStore): Promise<Map<string, RecordedEvent[]>> => {
  const streams = new Map<string, RecordedEvent[]>();
  for (let after = START; ;) {
    const page = await store.readAll({ after, limit: 1_000 });
    const last = page.at(-1);
    if (last === undefined) return streams;
    for (const event of page) {
      if (categoryOf(event.stream) !== 'syndication') continue;
      streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
    }
    after = last.position;
  }
};

/** Keys of calls that do not belong to a started generation: each generation has one key (`deliver.ts`). */
const otherKeysOf = (
  keys: readonly string[],
  streams: ReadonlyMap<string, readonly RecordedEvent[]>,
): readonly string[] => {
  const known = new Set(
    [...streams].flatMap(([stream, events]) =>
      events
        .filter(({ type }) => type === 'SyndicationStarted')
        .map(({ data }) => syndicationEvents.SyndicationStarted.data.parse(data).generation)
        .map((generation) => derivedId(recordIdIn(stream), `${generation}`)),
    ),
  );
  return [...new Set(keys.filter((key) => !known.has(key)))];
};

const recordIdIn = (stream: string): string => stream.replace(/^syndication-\d+-/, '');

/** Planned causes of FAILED: an agent that was always busy, or kills that ended five workers of one job. */
const isUnexplained = ({ status, errorMessage }: SyndicationResource): boolean =>
  status === 'FAILED' && !/Too many calls|although it tried often/.test(errorMessage ?? '');

const illegalTransitionsOf = (events: readonly RecordedEvent[]): readonly string[] => {
  let state: SyndicationState = initialState;
  return events.flatMap(({ type, data, metadata, stream }) => {
    const known = syndicationEvents[type as keyof typeof syndicationEvents];
    const event = { type, data: known.data.parse(data), occurredAt: metadata.occurredAt } as SyndicationEvent;
    const before = state.status;
    state = evolve(state, event);
    const transition = `${before}>${state.status}`;
    return legalSteps.has(transition) ? [] : [`${stream}: ${transition}`];
  });
};

/** Ids of the members of each audience. */
const membersOf = async (pool: Pool): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await pool.query<{ key: string; ids: string[] }>(
    `select a.key, array_agg(m.external_id order by m.external_id) as ids
     from audiences a join audience_members m on m.customer_id = a.customer_id and m.audience_id = a.id
     group by a.key`,
  );
  return new Map(rows.map(({ key, ids }) => [key, ids.join()]));
};

const compareWithAgents = async (
  records: readonly SyndicationResource[],
  { agents }: Buyer,
  members: ReadonlyMap<string, string>,
) => {
  const unexpectedAtAgent: string[] = [];
  let missingAtAgent = 0;
  let otherMembers = 0;
  let repeatedEffects = 0;
  for (const { id, agent, accountId } of agents) {
    const { effects, audiences } = await agent.state();
    repeatedEffects += effects.length - new Set(effects).size;
    const there = new Set([
      ...(await agent.eventSources(accountId)),
      ...(await agent.catalogs(accountId)),
      ...Object.keys(audiences[JSON.stringify({ account_id: accountId })] ?? {}),
    ]);
    for (const record of records.filter(({ adcpAgentId }) => adcpAgentId === id)) {
      const { status, resourceType, resourceId } = record;
      if (status === 'COMPLETED' && !there.has(resourceId)) missingAtAgent += 1;
      if (status === 'DISABLED' && there.has(resourceId) && !isLeftThere(record)) {
        unexpectedAtAgent.push(`${keyOf(record)}: ${JSON.stringify(record.responseData)}`);
      }
      if (status === 'COMPLETED' && resourceType === 'AUDIENCE') {
        const ids = Object.keys((await agent.members(accountId, resourceId)) ?? {}).sort();
        if (ids.join() !== members.get(resourceId)) otherMembers += 1;
      }
    }
  }
  return { unexpectedAtAgent, missingAtAgent, otherMembers, repeatedEffects };
};

/**
 * Allowed remainders: the last catalog, which no agent can delete, and withdrawals that the record reports as abandoned
 * after many kills.
 */
const isLeftThere = ({ resourceType, responseData }: SyndicationResource): boolean => {
  const withdrawal = JSON.stringify(responseData?.['withdrawal'] ?? null);
  const isLastCatalog = resourceType === 'CATALOG' && withdrawal.includes('its last resource');
  return isLastCatalog || withdrawal.includes('although it tried often');
};
