import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccount } from '../../app/create-account.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { readConfig } from '../../app/config.ts';
import { failpointNames as allFailpoints } from '../../shared/async/failpoints.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import type { EventsIn } from '../support/test-stores.ts';
import { crashRunAreas, type ClientState } from './kit/buyer/client-state.ts';
import { checkHistory, type Findings } from './kit/checker.ts';
import { runClient } from './kit/client.ts';
import { referencedStoresOf } from './kit/partial-writes.ts';
import { emptyHistory, type History } from './kit/history.ts';
import { createFaultyStores, totalOf, type FaultyStores, type StoreFaults } from './kit/faulty-stores.ts';
import { createRandom, type Random } from './kit/random.ts';
import { startSupervisor } from './kit/supervisor.ts';

export interface CrashRunOptions {
  readonly seed: number;
  /** The run ends when all of these are reached, or after `secondsMax`. */
  readonly commands: number;
  readonly crashes: number;
  /** Includes at least one of every kind. */
  readonly faults: number;
  /** Also requires a crash at each failpoint. */
  readonly everyFailpoint?: boolean;
  readonly secondsMax: number;
  /** Default: in Postgres. */
  readonly events?: EventsIn;
  /** Nodes of the EventStoreDB that `EVENTSTORE_COMMAND` starts. Default 1. */
  readonly nodes?: number;
  /** A planted defect (`mutants.ts`). */
  readonly mutant?: string;
  /** The probability of a crash at a failpoint. Default 0.008. */
  readonly crashProbability?: number;
}

export interface CrashRunReport {
  readonly seed: number;
  readonly stores: string;
  readonly seconds: number;
  readonly commands: number;
  readonly crashes: number;
  readonly faults: StoreFaults;
  readonly replays: number;
  readonly reads: number;
  readonly failpointsHit: readonly string[];
  readonly failpointsMissed: readonly string[];
  readonly findings: Findings;
}

const PROCESSES = 3;
const CLIENTS = 40;
const CRASH_PROBABILITY = 0.007;
/** Higher, because refusals are rare in a run. */
const RELEASE_CRASH_PROBABILITY = 0.3;
/** Higher, because uploads are rare in a run. */
const UPLOAD_CRASH_PROBABILITY = 0.15;
const FAULT_EVERY_MS = 350;
/** The minimum of completed commands between two faults: on a slow machine no command could complete otherwise. */
const FAULT_EVERY_COMMANDS = 3;
const LOOK_EVERY_MS = 200;

/** Other fault suites pass those of copies (`online-rebuild`), mails (`mails`) and webhooks (`webhooks`). */
const failpointNames = allFailpoints.filter((name) => !/^(?:copy|webhook)-|-mail$/.test(name));

/** Shared, because each process reads secrets that another has written. */
const SECRET_KEYS = `faults:${'A'.repeat(43)}`;
/**
 * Without workers: they would open a queue at each start, and submit active creatives to sellers without a client's
 * command.
 */
const ROLES = 'api,projector';
/** The same for all processes, so that answers can be compared byte by byte. */
const BASE_URL = 'http://exchange.test';

/**
 * Sends mixed commands to several processes that crash at failpoints, with failing stores and cut and stalled
 * connections. Then it checks the history against the log and the read models.
 */
export const crashRun = async (options: CrashRunOptions): Promise<CrashRunReport> => {
  const random = createRandom(options.seed);
  const stores = await createFaultyStores(options.events ?? 'postgres', options.nodes);
  const directory = await mkdtemp(join(tmpdir(), 'buyer-exchange-faults-'));
  const hits = join(directory, 'failpoints');
  const settings = { DATA_DIR: join(directory, 'data'), SECRET_KEYS, BASE_URL, ROLES };
  const config = readConfig({ ...stores.direct, ...settings });
  const installation = await openWithLongTimeouts(config, 'faults');
  const accounts = await Promise.all(['A', 'B', 'C'].map((name) => createAccount(installation, name)));
  let missed = await missedIn(hits);
  let crashes = 0;
  const supervisor = await startSupervisor(PROCESSES, {
    ...stores.faulty,
    ...settings,
    // Evaluated for each started process.
    get EXCHANGE_FAILPOINTS() {
      crashes += 1;
      const of = (name: string): number => likelihoodOf(name, missed, crashes - PROCESSES, options);
      return failpointNames.map((name) => `${name}:${of(name)}`).join(',');
    },
    EXCHANGE_FAILPOINT_FILE: hits,
    ...(options.mutant === undefined ? {} : { MUTANT: options.mutant }),
  });
  const history = emptyHistory();
  let startedAt = performance.now();
  const elapsedSeconds = (): number => (performance.now() - startedAt) / 1_000;
  const days = [today()];
  const goOn = (): boolean =>
    elapsedSeconds() < options.secondsMax &&
    (history.operations.length < options.commands ||
      supervisor.crashes < options.crashes ||
      totalOf(stores.faults) < options.faults ||
      !isOfEveryKind(stores.faults, options) ||
      (options.everyFailpoint === true && missed.length > 0));
  const lookForHits = async (): Promise<void> => {
    for (; goOn(); missed = await missedIn(hits)) await sleep(LOOK_EVERY_MS);
  };
  try {
    await supervisor.ready();
    startedAt = performance.now();
    const disrupting = Promise.all([injectRegularly(stores, random, history, goOn), lookForHits()]).then(() =>
      supervisor.calm(),
    );
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) => {
        const account = accounts[index % accounts.length] ?? { customerId: 0, apiKey: '' };
        return runClient({
          name: `c${index}-${options.seed}`,
          ports: supervisor.ports,
          ...account,
          ...areasOf(index, accounts.length),
          random: createRandom(options.seed * 1_000 + index),
          history,
          goOn,
        });
      }),
    );
    await disrupting;
    const seconds = elapsedSeconds();
    await supervisor.stop();
    await projectTheRest({ ...stores.direct, ...settings });
    days.push(today());
    const keeps = await referencedStoresOf(config, installation);
    const findings = await checkHistory(history, installation, keeps, [...new Set(days)]);
    missed = await missedIn(hits);
    return {
      ...summary(options.seed, seconds, history),
      crashes: supervisor.crashes,
      faults: stores.faults,
      stores: stores.description,
      failpointsHit: failpointNames.filter((name) => !missed.includes(name)),
      failpointsMissed: missed,
      findings,
    };
  } finally {
    await supervisor.stop();
    await installation.close();
    await stores.drop();
    await rm(directory, { recursive: true, force: true });
  }
};

/** Failpoints at which no process has died yet. */
const missedIn = async (hits: string): Promise<readonly string[]> => {
  const hit = new Set((await readFile(hits, 'utf8').catch(() => '')).split('\n'));
  return failpointNames.filter((name) => !hit.has(name));
};

/**
 * Assigns areas, so that each area of each account has clients. An account has one connection to each engine, so no two
 * of its clients share one.
 */
const areasOf = (index: number, accounts: number): Pick<ClientState, 'areas' | 'engineId'> => {
  const place = Math.floor(index / accounts);
  return {
    areas: [
      crashRunAreas[place % crashRunAreas.length] ?? 'advertisers',
      ...crashRunAreas.filter((area) => area !== 'engines'),
    ],
    engineId: 1 + Math.floor(place / crashRunAreas.length),
  };
};

const isOfEveryKind = (
  { postgres, eventstoredb, inside }: StoreFaults,
  { events = 'postgres', nodes = 1 }: Pick<CrashRunOptions, 'events' | 'nodes'>,
): boolean => {
  if (events === 'postgres') return postgres > 0;
  return Math.min(postgres, inside, ...(nodes === 1 ? [eventstoredb] : [])) > 0;
};

const probabilityOf = (name: string, { crashProbability = CRASH_PROBABILITY }: CrashRunOptions): number => {
  if (name === 'before-release') return RELEASE_CRASH_PROBABILITY;
  if (name.startsWith('upload-')) return UPLOAD_CRASH_PROBABILITY;
  // Only the leader passes it, once for each batch.
  return name.startsWith('projection') ? crashProbability * 2.5 : crashProbability;
};

/** After enough crashes, only failpoints without a crash are active, with increasing probability. */
const likelihoodOf = (
  name: string,
  missed: readonly string[],
  crashes: number,
  options: CrashRunOptions,
): number => {
  const usual = probabilityOf(name, options);
  if (options.everyFailpoint !== true || crashes < options.crashes) return usual;
  return missed.includes(name) ? Math.min(0.5, usual * (1 + crashes / 4)) : 0;
};

const summary = (seed: number, seconds: number, { operations, replays, reads }: History) => ({
  seed,
  seconds: Math.round(seconds),
  commands: operations.length,
  replays,
  reads,
});

export const today = (): string => new Date(systemClock.now()).toISOString().slice(0, 10).replaceAll('-', '');

const injectRegularly = async (
  stores: FaultyStores,
  random: Random,
  { operations }: History,
  goOn: () => boolean,
): Promise<void> => {
  for (let enough = FAULT_EVERY_COMMANDS; goOn(); enough = operations.length + FAULT_EVERY_COMMANDS) {
    await sleep(random.below(FAULT_EVERY_MS * 2));
    while (goOn() && operations.length < enough) await sleep(10);
    await stores.injectFault(random);
  }
  await stores.calm();
};

/** A process without faults brings every read model up to the end of the log. */
export const projectTheRest = async (environment: Readonly<Record<string, string>>): Promise<void> => {
  const healthy = await startSupervisor(1, environment);
  try {
    await untilCaughtUp(healthy.ports[0] ?? 0);
  } finally {
    await healthy.stop();
  }
};

/** @param port of the process that leads every read model */
export const untilCaughtUp = async (port: number): Promise<void> => {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
    const text = answer?.status === 200 ? await answer.text() : '';
    const lags = [...text.matchAll(/"lag(?:Events|Bytes)":(-?\d+)/g)].map(([, lag]) => lag);
    if (lags.length > 0 && lags.every((lag) => lag === '0')) return;
    await sleep(50);
  }
  throw new Error('the read models did not catch up within 30 s');
};

/** The report as text. */
export const describe = ({ findings, ...report }: CrashRunReport): string => {
  const counts = Object.entries(findings as unknown as Record<string, readonly string[]>).map(
    ([kind, list]) => `${kind} ${list.length}`,
  );
  return [
    `seed ${report.seed}, ${report.stores}: ${report.commands} commands, ${report.crashes} crashes, ` +
      `${describeFaults(report.faults)}, ${report.replays} replays, ${report.reads} reads in ${report.seconds} s`,
    `failpoints hit: ${report.failpointsHit.length} of ${failpointNames.length}` +
      (report.failpointsMissed.length > 0 ? `, missed: ${report.failpointsMissed.join(', ')}` : ''),
    counts.join(', '),
    ...Object.values(findings as unknown as Record<string, readonly string[]>).flatMap((list) =>
      list.slice(0, 3),
    ),
  ].join('\n');
};

const describeFaults = ({ postgres, eventstoredb, inside }: StoreFaults): string =>
  eventstoredb + inside === 0
    ? `${postgres} cut or stalled connections`
    : `${postgres} cut or stalled connections to Postgres and ${eventstoredb} to EventStoreDB, ` +
      `${inside} faults inside EventStoreDB`;

export const isClean = ({ findings }: CrashRunReport): boolean =>
  Object.values(findings as unknown as Record<string, readonly string[]>).every((list) => list.length === 0);
