import { availableParallelism, loadavg } from 'node:os';
import type { Pool } from 'pg';
import { ATTEMPTS_MAX } from '../../command/workers/syndication/syndication-work.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { syndicationEvents, type SyndicationEvent } from '../../domain/syndication/syndication-events.ts';
import type { SyndicationResource } from '../../domain/syndication/syndication-resource.ts';
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
import { openPatiently } from '../support/open-patiently.ts';
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
  /** Records that one account switches on at slow agents before another switches on some of its own. */
  readonly crowd: number;
  /** Toggling and killing ends then, however much was done, s. */
  readonly secondsMax?: number;
}

export interface SyndicationRunReport {
  /** What was done of what was asked for. */
  readonly toggles: number;
  readonly kills: number;
  /** Of the process that serves the API, and the read models. */
  readonly apiKills: number;
  /** Kills while an agent was being asked for something. */
  readonly atWork: number;
  readonly flushes: number;
  readonly records: Readonly<Record<string, number>>;
  readonly generations: number;
  /** Calls that agents took, and those among them that were the first of their key. */
  readonly calls: number;
  readonly effects: number;
  /** From toggle to COMPLETED at p95, ms: for an account that is alone, and that comes after the crowd of another. */
  readonly afterCrowd: {
    readonly crowd: number;
    readonly records: number;
    readonly aloneMs: number;
    readonly crowdedMs: number;
    readonly wasBusy: boolean;
  };
  /** What the time went into, ms. */
  readonly tookMs: Readonly<Record<string, number>>;
  /** Calls that were followed as tasks. */
  readonly followed: number;
  /** What waited 60 s after the end. On a busy machine it may be slow only: what has got stuck is a finding. */
  readonly waitingAfter60s: readonly string[];
  /** Of those 60 s: more processes had something to do than there are processors. */
  readonly wasBusy: boolean;
  /** What must be empty or 0. */
  readonly findings: {
    /** What still waits five minutes after the end. */
    readonly stuck: readonly string[];
    readonly notTheLastToggle: number;
    readonly illegalTransitions: readonly string[];
    /** Records, with what they say of their agent. */
    readonly atTheAgentAndShouldNot: readonly string[];
    readonly notAtTheAgentAndShould: number;
    /** Audiences with other members at an agent than here. */
    readonly otherMembers: number;
    /** Effects of one call more than one. */
    readonly repeatedEffects: number;
    /**
     * Calls that brought an event source or a catalog under a key that no started generation of a record has: with one
     * key for each, and one effect for each key, a generation has at most one effect.
     */
    readonly otherKeys: readonly string[];
    /** Records that ended FAILED for something else than what the agents and the kills were told to do. */
    readonly failed: readonly string[];
  };
}

const SOURCES = ['s1', 's2'] as const;
const CATALOGS = ['c1', 'c2'] as const;
const AUDIENCES = ['a1', 'a2'] as const;
const RESOURCES = [...SOURCES, ...CATALOGS, ...AUDIENCES];
const PEOPLE = 1_500;
/** From when a worker has jobs until it is killed. */
const ALIVE_MS = { min: 100, max: 500 };
const SETTLE_MS_MAX = 60_000;
/** What waits so long after the end has got stuck, however busy the machine is. */
const STUCK_MS_MIN = 300_000;

/** Toggles at three agents while workers are killed, the queue is emptied and agents misbehave; then the sums. */
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
  const installation = await openPatiently(readConfig(environment), 'faults');
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
    const { wanted, ...done } = await breakOften({ ...options, supervisor, buyer, random, empty }, () =>
      countSyncing(installation.pool),
    );
    over('breaking');
    // One that finishes later has all its tasks to be followed while workers live.
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
        notTheLastToggle: records.filter((record) => record.enabled !== wanted.get(keyOf(record))).length,
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

/** More of what works, or nothing would ever be done. */
const MODES: readonly Behaviour['mode'][] = ['works', 'works', 'submitted', 'submitted', 'slow', 'busy'];

/** Among the processes; and every how many kills of workers it is killed, too. */
const API = 0;
const API_KILL_EVERY = 5;

/** Of one call, by the specification. */
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
    insist<Data>(api, path, body, `set-up-number-${String((calls += 1)).padStart(6, '0')}`);
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

/** Of one request: a busy machine answers that it has no time. */
const TRIES_MAX = 20;

const insist = async <Data>(api: Api, path: string, body: unknown, key: string): Promise<Data> => {
  let text = '';
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await api.post<Data>(path, body, { 'Idempotency-Key': key });
    if (answer.status < 300) return answer.body.data;
    text = answer.text;
    await sleep(250);
  }
  throw new Error(`${path} was never done: ${text}`);
};

const person = (n: number) => ({ externalId: `p${n}`, hashedEmail: n.toString(16).padStart(64, '0') });

/** What comes of a call of a process that may be killed meanwhile; undefined: nobody knows. */
const mayBeCut = <Answer>(call: Promise<Answer>): Promise<Answer | undefined> => call.catch(() => undefined);
/** A process that was killed is there again by then, on a busy machine, too. */
const CUT_MS_MAX = 120_000;

/** Somebody comes and somebody goes; in doubt, both again. */
const changeAudience = async ({ api, advertiser }: Buyer, random: Random): Promise<void> => {
  const audienceId = random.pick(AUDIENCES);
  const [come, gone] = [random.below(PEOPLE), random.below(PEOPLE)];
  const remove = come === gone ? [] : [{ externalId: `p${gone}` }];
  const body = { audiences: [{ audienceId, add: [person(come)], remove }] };
  const endMs = performance.now() + CUT_MS_MAX;
  while (performance.now() < endMs) {
    const answer = await mayBeCut(api.post(`/advertisers/${advertiser}/audiences/sync`, body));
    if (answer?.status === 202) return;
    await sleep(100);
  }
  throw new Error('an audience was never changed');
};

const keyOf = ({
  resourceId,
  adcpAgentId,
}: Pick<SyndicationResource, 'resourceId' | 'adcpAgentId'>): string => `${resourceId}@${adcpAgentId}`;

interface Breaking extends Pick<SyndicationRunOptions, 'toggles' | 'kills' | 'secondsMax'> {
  readonly supervisor: Supervisor;
  readonly buyer: Buyer;
  readonly random: Random;
  /** Loses all jobs. */
  readonly empty: () => Promise<void>;
}

interface Broken extends Pick<SyndicationRunReport, 'toggles' | 'kills' | 'apiKills' | 'atWork' | 'flushes'> {
  /** What was asked for last, by record. */
  readonly wanted: ReadonlyMap<string, boolean>;
}

/**
 * Toggles all the time, and in the midst of them kills one worker after the other, each as soon as it has jobs again;
 * halfway the queue is lost.
 */
const breakOften = async (
  { toggles, kills, secondsMax = Infinity, supervisor, buyer, random, empty }: Breaking,
  countSyncingNow: () => Promise<number>,
): Promise<Broken> => {
  const wanted = new Map<string, boolean>();
  const endMs = performance.now() + secondsMax * 1_000;
  let [kill, toggled, apiKills, atWork, flushes] = [0, 0, 0, 0, 0];
  while (kill < kills && performance.now() < endMs) {
    kill += 1;
    const [from, to] = [kill - 1, kill].map((n) => Math.round((n * toggles) / kills));
    const worker = 1 + (kill % 2);
    const killOne = async (): Promise<void> => {
      await supervisor.partReady(worker, 'queue');
      await sleep(ALIVE_MS.min + random.below(ALIVE_MS.max - ALIVE_MS.min));
      if ((await countSyncingNow()) > 0) atWork += 1;
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
  return { wanted, toggles: toggled, kills: kill, apiKills, atWork, flushes };
};

/** Between two toggles at most: some records are changed more often than any agent answers. */
const PAUSE_MS_MAX = 150;

/** @param wanted what was asked for last, by record */
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
    const endMs = performance.now() + CUT_MS_MAX;
    for (;;) {
      const answer = await mayBeCut(api.post(`/advertisers/${advertiser}/syndicate`, body, headers));
      if (answer?.status === 201) break;
      // Nothing that it could be refused for ever happens here.
      if (
        answer !== undefined &&
        answer.status < 500 &&
        answer.body.error?.code !== 'IDEMPOTENCY_IN_FLIGHT'
      ) {
        throw new Error(`a toggle was refused: ${answer.text}`);
      }
      if (performance.now() > endMs) throw new Error(`a toggle was never done: ${answer?.text}`);
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

/** Of the last minute: more processes had something to do than there are processors. */
const isBusy = (): boolean => (loadavg()[0] ?? 0) > availableParallelism();

const CROWD_AGENT_MS = 500;
const AFTER_CROWD_MS_MAX = 60_000;

/** One account switches on very much at slow agents, then another a little at the same. */
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

/** That one advertiser may have. */
const ADVERTISER_SOURCES = 500;

/** Of the same account, with event sources of other ids: an id is one advertiser's at an agent. */
const anotherAdvertiser = async (buyer: Buyer, from: number, to: number): Promise<Buyer> => {
  const { api } = buyer;
  const { id } = await insist<{ id: number }>(
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
    await insist(api, path, body, `sources-of-${advertiser}-from-${from}-and-on`);
  }
};

/** Event sources that the second account switches on, each time. */
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
        if (tries > 100) throw new Error(`a toggle was never done: ${answer.text}`);
        await sleep(100);
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
};

/**
 * What was to be dropped at an agent that was busy for long waits long for its next try, by design: that try is due now.
 */
const hastenWithdrawals = async (pool: Pool): Promise<void> => {
  await pool.query(
    `update work_list set due_at = now()
     where kind = 'syndication' and attempts >= $1 and leased_until is null and due_at > now()`,
    [ATTEMPTS_MAX],
  );
};

/** @returns what still waits after that long, in the words of its list and of its record */
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

/** A busy machine answers that it has no time, to this as to what is written. */
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
  throw new Error(`records were never shown: ${text}`);
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

/** Keys of calls that are of no generation which was started: there is one for each (`deliver.ts`). */
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

/** An agent that was busy all the while, or kills that took five workers of one job along, are what was asked for. */
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
  const atTheAgentAndShouldNot: string[] = [];
  let notAtTheAgentAndShould = 0;
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
      if (status === 'COMPLETED' && !there.has(resourceId)) notAtTheAgentAndShould += 1;
      if (status === 'DISABLED' && there.has(resourceId) && !isLeftThere(record)) {
        atTheAgentAndShouldNot.push(`${keyOf(record)}: ${JSON.stringify(record.responseData)}`);
      }
      if (status === 'COMPLETED' && resourceType === 'AUDIENCE') {
        const ids = Object.keys((await agent.members(accountId, resourceId)) ?? {}).sort();
        if (ids.join() !== members.get(resourceId)) otherMembers += 1;
      }
    }
  }
  return { atTheAgentAndShouldNot, notAtTheAgentAndShould, otherMembers, repeatedEffects };
};

/** The last catalog, which no agent can be told to drop; and what was given up, as the record says, after many kills. */
const isLeftThere = ({ resourceType, responseData }: SyndicationResource): boolean => {
  const withdrawal = JSON.stringify(responseData?.['withdrawal'] ?? null);
  const isLastCatalog = resourceType === 'CATALOG' && withdrawal.includes('its last resource');
  return isLastCatalog || withdrawal.includes('although it tried often');
};
