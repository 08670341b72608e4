import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Installation } from '../../app/installation.ts';
import { CONVERSIONS, sourceOfStream, type ConversionsLogged } from '../../domain/conversions/events.ts';
import { createAccount } from '../../app/create-account.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { isoTimestamp, systemClock } from '../../shared/async/clock.ts';
import { readConfig } from '../../app/config.ts';
import { categoryOf, START, type EventStore } from '../../shared/event-store/event-store.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { apiOf } from '../support/api-client.ts';
import type { EventsIn } from '../support/test-stores.ts';
import { projectTheRest } from './crash-run.ts';
import { createFaultyStores, totalOf, type FaultyStores } from './kit/faulty-stores.ts';
import { createRandom, type Random } from './kit/random.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

export interface ConversionRunOptions {
  readonly seed: number;
  /**
   * The run ends when this many distinct events were answered and all other minimums are reached, or after
   * `secondsMax`.
   */
  readonly distinct: number;
  /** Default: no minimum. */
  readonly crashes?: number;
  readonly faults?: number;
  /** Calls in progress at the end may still be answered. */
  readonly secondsMax: number;
  /** Default: in Postgres. */
  readonly events?: EventsIn;
  /** A planted defect (`conversion-mutants.ts`). */
  readonly mutant?: string;
}

export interface ConversionRunReport {
  readonly seed: number;
  readonly stores: string;
  readonly seconds: number;
  readonly calls: number;
  readonly repeats: number;
  readonly crashes: number;
  /** Connections cut or stalled, and faults injected into EventStoreDB. */
  readonly faults: number;
  /** Times the segments were truncated, thinned out or locked. */
  readonly segmentFaults: number;
  /** Distinct events in answered calls. */
  readonly sent: number;
  readonly accepted: number;
  readonly stored: number;
  readonly storedDistinct: number;
  /** In the read model. */
  readonly counted: number;
  readonly wrong: readonly string[];
}

const PROCESSES = 2;
const CLIENTS = 24;
const SOURCES = 4;
/**
 * Intervals of faults in the stores, the processes and the segments. A missing answer of EventStoreDB blocks for 3 s.
 */
const paces = {
  postgres: { faultEveryMs: 300, killEveryMs: 2_500, damageEveryMs: 1_000 },
  eventstoredb: { faultEveryMs: 1_500, killEveryMs: 10_000, damageEveryMs: 1_500 },
} as const;
const ATTEMPT_MS_MAX = 5_000;
/** After the last fault. */
const ANSWERED_WITHIN_SECONDS = 60;
/** A tenth of a second each, because processes start and are killed meanwhile. */
const SETUP_TRIES = 600;
const FAILPOINTS =
  'before-append:0.006,after-append:0.006,after-claim:0.002,before-complete:0.004,projection-before-commit:0.01';

interface Run {
  readonly apiKey: string;
  readonly ports: readonly number[];
  /** The next new id of each source. Calls also use earlier ids. */
  readonly heads: number[];
  readonly sent: readonly Set<number>[];
  readonly goOn: () => boolean;
  readonly isLate: () => boolean;
  calls: number;
  repeats: number;
  accepted: number;
  readonly wrong: string[];
}

/**
 * Many clients send overlapping batches to few sources. Two processes are killed, connections are cut and stalled, and
 * the segments table is truncated, thinned out and locked. Each client repeats a call with its key until it is
 * answered. At the end, the run compares the sums of accepted, sent, stored and counted events.
 */
export const conversionRun = async (options: ConversionRunOptions): Promise<ConversionRunReport> => {
  const random = createRandom(options.seed);
  const stores = await createFaultyStores(options.events ?? 'postgres');
  const directory = await mkdtemp(join(tmpdir(), 'buyer-exchange-conversions-'));
  const installation = await openWithLongTimeouts(readConfig(stores.direct), 'faults');
  const { apiKey } = await createAccount(installation, 'A');
  const supervisor = await startSupervisor(PROCESSES, {
    ...stores.faulty,
    EXCHANGE_FAILPOINTS: FAILPOINTS,
    CONVERSION_RESERVATIONS: join(directory, 'reservations'),
    ...(options.mutant === undefined ? {} : { MUTANT: options.mutant }),
  });
  const startedAt = performance.now();
  const secondsSince = (): number => (performance.now() - startedAt) / 1_000;
  try {
    await openSources(supervisor, apiKey);
    const run: Run = {
      apiKey,
      ports: supervisor.ports,
      heads: Array.from({ length: SOURCES }, () => 0),
      sent: Array.from({ length: SOURCES }, () => new Set<number>()),
      goOn: () =>
        secondsSince() < options.secondsMax &&
        (sumOf(run.sent.map(({ size }) => size)) < options.distinct ||
          supervisor.crashes < (options.crashes ?? 0) ||
          totalOf(stores.faults) < (options.faults ?? 0)),
      isLate: () => secondsSince() > options.secondsMax + ANSWERED_WITHIN_SECONDS,
      calls: 0,
      repeats: 0,
      accepted: 0,
      wrong: [],
    };
    const pace = paces[options.events ?? 'postgres'];
    const disrupting = Promise.all([
      injectRegularly(run, stores, supervisor, random, pace).then(() => supervisor.calm()),
      damageSegments(run, installation.pool, createRandom(options.seed + 1), pace),
    ]);
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, n) =>
        client(run, `c${n}-${options.seed}`, createRandom(options.seed * 100 + n)),
      ),
    );
    const [, segmentFaults] = await disrupting;
    const seconds = Math.round(secondsSince());
    await supervisor.stop();
    await projectTheRest(stores.direct);
    return {
      seed: options.seed,
      stores: stores.description,
      seconds,
      ...(await sumsOf(installation.store, run)),
      counted: await countedIn(installation.pool),
      crashes: supervisor.crashes,
      faults: totalOf(stores.faults),
      segmentFaults,
    };
  } finally {
    await supervisor.stop();
    await installation.close();
    await stores.drop();
    await rm(directory, { recursive: true, force: true });
  }
};

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

const openSources = async ({ ports }: Supervisor, apiKey: string): Promise<void> => {
  const api = apiOf(`http://127.0.0.1:${ports[0]}`, { Authorization: `Bearer ${apiKey}` });
  const untilDone = async <Data>(path: string, body: object): Promise<Data> => {
    for (let tries = 0; tries < SETUP_TRIES; tries += 1) {
      const answer = await api
        .post<Data>(path, body, { 'Idempotency-Key': `setup-of-the-run-${path.replaceAll('/', '-')}` })
        .catch(() => undefined);
      if (answer !== undefined && answer.status < 300) return answer.body.data;
      await sleep(100);
    }
    throw new Error(`${path} was not answered with success`);
  };
  const { id } = await untilDone<{ id: number }>('/advertisers', { name: 'A' });
  await untilDone(`/advertisers/${id}/event-sources/sync`, {
    account: { account_id: String(id) },
    event_sources: Array.from({ length: SOURCES }, (_, n) => ({ event_source_id: `source-${n}` })),
  });
};

const client = async (run: Run, name: string, random: Random): Promise<void> => {
  const done: {
    readonly key: string;
    readonly source: number;
    readonly body: string;
    readonly text: string;
  }[] = [];
  for (let n = 0; run.goOn(); n += 1) {
    const source = random.below(SOURCES);
    const { ids, body, broken } = batchOf(run, source, random);
    const key = `${name}-${n}-conversions`;
    const text = await untilAnswered(run, random, source, key, body);
    if (text === undefined) return;
    run.calls += 1;
    check(run, key, text, ids.length, broken);
    for (const id of ids) run.sent[source]?.add(id);
    done.push({ key, source, body, text });
    if (!random.chance(0.1)) continue;
    const earlier = random.pick(done);
    const again = await untilAnswered(run, random, earlier.source, earlier.key, earlier.body);
    run.repeats += 1;
    if (again !== undefined && again !== earlier.text)
      run.wrong.push(`${earlier.key}: ${earlier.text} then ${again}`);
  }
};

const SIZES = [1, 1, 10, 100, 400, 1_000, 2_500] as const;

/** Ids around the highest sent id. Some ids appear twice, and some items are invalid. */
const batchOf = (run: Run, source: number, random: Random) => {
  const size = random.pick(SIZES);
  const head = run.heads[source] ?? 0;
  const start = Math.max(0, head - random.below(size + 50));
  const ids = Array.from({ length: size }, (_, n) =>
    random.chance(0.05) ? start + random.below(size) : start + n,
  );
  run.heads[source] = Math.max(head, start + size);
  const eventTime = isoTimestamp(systemClock.now());
  const items: object[] = ids.map((id) => ({ eventId: `order-${id}`, eventTime, value: 1, currency: 'EUR' }));
  const broken = random.chance(0.2) ? 1 + random.below(3) : 0;
  for (let n = 0; n < broken; n += 1) items.splice(random.below(items.length + 1), 0, { eventId: 'broken' });
  return { ids, broken, body: JSON.stringify({ events: items }) };
};

const untilAnswered = async (
  run: Run,
  random: Random,
  source: number,
  key: string,
  body: string,
): Promise<string | undefined> => {
  while (!run.isLate()) {
    const answer = await attempt(run, random.pick(run.ports), source, key, body);
    if (answer?.status === 200) return answer.text;
    const isRefused = answer !== undefined && answer.status < 500 && !answer.text.includes('IN_FLIGHT');
    if (isRefused) {
      run.wrong.push(`${key}: ${answer.status} ${answer.text}`);
      return undefined;
    }
    await sleep(20 + random.below(200));
  }
  run.wrong.push(`${key}: no answer in time`);
  return undefined;
};

const attempt = async ({ apiKey }: Run, port: number, source: number, key: string, body: string) => {
  try {
    const response = await fetch(
      `http://127.0.0.1:${port}/api/v2/buyer/event-sources/source-${source}/events`,
      {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${apiKey}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': key,
        },
        body,
        signal: AbortSignal.timeout(ATTEMPT_MS_MAX),
      },
    );
    return { status: response.status, text: await response.text() };
  } catch {
    return undefined;
  }
};

const check = (run: Run, key: string, text: string, valid: number, broken: number): void => {
  const { data } = JSON.parse(text) as {
    data: { accepted: number; duplicates: number; rejected: unknown[] };
  };
  run.accepted += data.accepted;
  const isWhole = data.accepted + data.duplicates === valid && data.rejected.length === broken;
  if (!isWhole) run.wrong.push(`${key}: ${valid} valid and ${broken} broken ones gave ${text.slice(0, 200)}`);
};

const injectRegularly = async (
  run: Run,
  stores: FaultyStores,
  supervisor: Supervisor,
  random: Random,
  { faultEveryMs, killEveryMs }: (typeof paces)[EventsIn],
): Promise<void> => {
  let nextKillMs = performance.now() + killEveryMs;
  while (run.goOn()) {
    await sleep(random.below(faultEveryMs * 2));
    await stores.injectFault(random);
    const index = random.below(PROCESSES);
    // Kills only a process that is ready: on a busy machine none would ever become ready otherwise.
    if (performance.now() < nextKillMs || !(await answers(supervisor.ports[index]))) continue;
    nextKillMs = performance.now() + random.below(killEveryMs * 2);
    supervisor.kill(index);
  }
  await stores.calm();
};

const answers = async (port: number | undefined): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/live`, { signal: AbortSignal.timeout(1_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

type Pool = Installation['pool'];

/** Damages the segments as a restored replica, an operator's mistake or a slow projector would. */
const damageSegments = async (
  run: Run,
  pool: Pool,
  random: Random,
  { damageEveryMs }: (typeof paces)[EventsIn],
): Promise<number> => {
  let done = 0;
  while (run.goOn()) {
    await sleep(random.below(damageEveryMs * 2));
    const how = random.pick([
      'truncate conversion_segments',
      'truncate conversion_commands',
      'delete from conversion_segments where random() < 0.3',
      'begin; lock table conversion_segments in share mode; select pg_sleep(1.5); commit',
    ]);
    // A statement may be cancelled by a timeout or by other calls. The next one follows.
    await pool.query(how).then(
      () => (done += 1),
      () => undefined,
    );
  }
  return done;
};

const sumsOf = async (store: EventStore, run: Run) => {
  const stored = new Map<string, number>();
  let after = START;
  for (;;) {
    const page = await store.readAll({ after, limit: 500 });
    for (const { stream, data } of page) {
      if (categoryOf(stream) !== CONVERSIONS) continue;
      const { sourceId } = sourceOfStream(stream) ?? { sourceId: '' };
      for (const id of (data as unknown as ConversionsLogged).eventIds) {
        stored.set(`${sourceId} ${id}`, (stored.get(`${sourceId} ${id}`) ?? 0) + 1);
      }
    }
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.position;
  }
  const { calls, repeats, accepted, wrong } = run;
  const sent = sumOf(run.sent.map(({ size }) => size));
  return {
    calls,
    repeats,
    accepted,
    sent,
    stored: sumOf([...stored.values()]),
    storedDistinct: stored.size,
    wrong,
  };
};

const countedIn = async (pool: Pool): Promise<number> =>
  (
    await pool.query<{ counted: number }>(
      'select coalesce(sum(event_count), 0)::int as counted from conversion_hours',
    )
  ).rows[0]?.counted ?? 0;

export const isExact = ({
  sent,
  accepted,
  stored,
  storedDistinct,
  counted,
  wrong,
}: ConversionRunReport): boolean =>
  wrong.length === 0 && accepted === sent && stored === sent && storedDistinct === sent && counted === sent;

/**
 * True if events were lost, doubled, or wrongly accepted. A slow run alone is not broken: the events of its unanswered
 * calls may be stored or not.
 */
export const isBroken = ({ sent, accepted, stored, storedDistinct, wrong }: ConversionRunReport): boolean =>
  storedDistinct < sent || stored > storedDistinct || (wrong.length === 0 && accepted !== stored);

/** The report as text. */
export const describe = (report: ConversionRunReport): string =>
  [
    `seed ${report.seed}, ${report.stores}: ${report.calls} calls, ${report.repeats} repeats, ${report.crashes} crashes, ` +
      `${report.faults} faults of stores and connections, ${report.segmentFaults} broken segments in ${report.seconds} s`,
    `sent ${report.sent}, accepted ${report.accepted}, stored ${report.stored} (${report.storedDistinct} distinct), ` +
      `counted ${report.counted}, wrong answers ${report.wrong.length}`,
    ...report.wrong.slice(0, 5),
  ].join('\n');
