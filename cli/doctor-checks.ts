import { stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../app/config.ts';
import type { Installation } from '../app/installation.ts';
import { createLog } from '../app/log.ts';
import { migrations } from '../migrations/index.ts';
import { allProjections } from '../projections/all-projections.ts';
import { readHealth, type ReadModelHealth } from '../projections/engine/read-model-health.ts';
import { systemClock } from '../shared/async/clock.ts';
import { comparePositions } from '../shared/event-store/event-store.ts';
import { trustedEnd } from '../shared/log-chain/chain-end.ts';
import { lastCheckpoint, sealedAtOf } from '../shared/log-chain/checkpoints.ts';
import { logKeysOf } from '../shared/log-chain/log-keys.ts';
import { pendingMigrations } from '../shared/postgres/migrate.ts';
import { countServices } from '../shared/postgres/running-services.ts';
import { openObjectStore } from '../shared/storage/open-object-store.ts';
import { workBacklog } from '../shared/work-list/show-work.ts';
import { relativeTime } from './print-table.ts';

export interface Finding {
  readonly state: 'ok' | 'note' | 'problem';
  readonly finding: string;
  readonly advice?: string;
  /** The checks after this one cannot run. */
  readonly isLast?: boolean;
}

export interface Check {
  readonly check: string;
  readonly look: () => Promise<Finding>;
  readonly advice: string;
}

export const ok = (finding: string): Finding => ({ state: 'ok', finding });
const note = (finding: string): Finding => ({ state: 'note', finding });
export const problem = (finding: string, advice: string): Finding => ({ state: 'problem', finding, advice });

const CLOCK_MS_MAX = 1_000;
const GB = 1_000_000_000;
const DISK_BYTES_MIN = GB;
const SEAL_LATE_SECONDS = 300;
const WORK_LATE_SECONDS = 600;

export const isCreated = ({ DATA_DIR }: Config): Promise<boolean> =>
  stat(join(DATA_DIR, 'postgres-secrets.json')).then(
    () => true,
    () => false,
  );

export const machineChecks = (config: Config): readonly Check[] => [
  { check: 'disk', look: () => disk(config), advice: 'Make DATA_DIR a folder that this user can read.' },
  ...(config.REDIS_URL === undefined
    ? []
    : [
        {
          check: 'redis',
          look: () => redis(config.REDIS_URL ?? '', config),
          advice: 'Start Redis, or correct REDIS_URL.',
        },
      ]),
  {
    check: 'asset store',
    look: () => assetStore(config),
    advice: 'Make the bucket or folder readable and writable, or correct ASSET_STORE_URL.',
  },
];

const disk = async ({ DATA_DIR }: Config): Promise<Finding> => {
  const folder = await existing(resolve(DATA_DIR));
  const { bavail, bsize, blocks } = await statfs(folder);
  const free = bavail * bsize;
  const text = `${(free / GB).toFixed(1)} GB free of ${((blocks * bsize) / GB).toFixed(1)} GB at ${DATA_DIR}`;
  return free >= DISK_BYTES_MIN
    ? ok(text)
    : problem(text, 'Free disk space: a full disk stops the embedded database and uploads.');
};

const existing = async (folder: string): Promise<string> =>
  stat(folder).then(
    () => folder,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' || folder === dirname(folder)) throw error;
      return existing(dirname(folder));
    },
  );

const redis = async (url: string, { REDIS_KEY_PREFIX }: Config): Promise<Finding> => {
  const { openRedisJobs } = await import('../shared/queue/redis-jobs.ts');
  const jobs = await openRedisJobs(url, REDIS_KEY_PREFIX, createLog('silent'));
  await jobs.close();
  const policy = String(jobs.detail['evictionPolicy']);
  return policy === 'noeviction'
    ? ok('answers')
    : problem(
        `answers, with maxmemory-policy ${policy}`,
        'Set maxmemory-policy of Redis to noeviction, else it may drop jobs.',
      );
};

const assetStore = async ({ ASSET_STORE_URL, DATA_DIR }: Config): Promise<Finding> => {
  const objects = await openObjectStore(ASSET_STORE_URL, DATA_DIR);
  await objects.check();
  return ok(objects.kind === 's3' ? 'S3, readable and writable' : 'a folder, readable and writable');
};

export const databaseChecks = (installation: Installation, config: Config): readonly Check[] => {
  const { pool } = installation;
  const healths = once(() => readHealth(pool, installation.sealedStore, allProjections, systemClock.now()));
  const services = once(() => countServices(pool));
  const retry = 'Repair the database or the event store first, then run doctor again.';
  return [
    {
      check: 'database',
      look: () => database(installation),
      advice: 'Start the database, or correct DATABASE_URL.',
    },
    { check: 'clocks', look: () => clocks(installation), advice: retry },
    {
      check: 'event store',
      look: () => eventStore(installation),
      advice: 'Start the event store, or correct EVENTSTORE_URL.',
    },
    { check: 'processes', look: async () => processes(await services()), advice: retry },
    {
      check: 'read models',
      look: async () => readModels(await healths(), await services()),
      advice: retry,
    },
    { check: 'parked streams', look: async () => parked(await healths()), advice: retry },
    {
      check: 'seals',
      look: async () => seals(installation, config, await services()),
      advice: 'Run `exchange log verify`, and resolve what it reports: the log may have been changed.',
    },
    { check: 'work list', look: () => workList(installation), advice: retry },
  ];
};

const once = <T>(ask: () => Promise<T>): (() => Promise<T>) => {
  let answer: Promise<T> | undefined;
  return () => (answer ??= ask());
};

const database = async ({ pool }: Installation): Promise<Finding> => {
  const { rows } = await pool.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  );
  const pending = await pendingMigrations(pool, migrations);
  const text = `Postgres ${rows[0]?.version}`;
  if (pending.length === 0) return ok(`${text}, schema up to date`);
  const advice = 'Start the service, or run `exchange migrate`: either updates the schema.';
  return { ...problem(`${text}, ${pending.length} migrations are pending`, advice), isLast: true };
};

const clocks = async ({ pool }: Installation): Promise<Finding> => {
  const beforeMs = systemClock.now();
  const { rows } = await pool.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  const differenceMs = Math.round((rows[0]?.ms ?? 0) - (beforeMs + systemClock.now()) / 2);
  const text = `${Math.abs(differenceMs)} ms between this machine and the database`;
  return Math.abs(differenceMs) <= CLOCK_MS_MAX
    ? ok(text)
    : problem(text, 'Synchronise the clocks of both machines with NTP: times in events come from them.');
};

const eventStore = async (installation: Installation): Promise<Finding> => {
  const { store, storeKind } = installation;
  const [head, found] = await Promise.all([store.head(), installation.appendProblem()]);
  return found === undefined
    ? ok(`${storeKind}, ends at ${head}`)
    : problem(`${storeKind}: ${found}`, 'Repair the event store: no write succeeds now.');
};

const processes = (services: number): Finding =>
  services === 0 ? note('no process of the service runs') : ok(`${services} of the service run`);

/** Without a running service, a read model without a process is normal. */
const readModels = (healths: readonly ReadModelHealth[], services: number): Finding => {
  const of = (wanted: string): readonly string[] =>
    healths.flatMap(({ readModel, problems }) => (problems.some((one) => one === wanted) ? [readModel] : []));
  const [ahead, idle, behind] = [of('log-ends-before'), services === 0 ? [] : of('not-run'), of('behind')];
  if (ahead.length > 0)
    return problem(
      `ahead of the log: ${ahead.join(', ')}`,
      'The log was replaced by an older one: stop the service and run `exchange read-models rebuild --offline`.',
    );
  if (idle.length > 0)
    return problem(
      `not updated by any process: ${idle.join(', ')}`,
      'Start a process with the role projector.',
    );
  const seconds = Math.max(0, ...healths.map(({ lagSeconds }) => lagSeconds));
  const text = `the slowest of ${healths.length} is ${seconds.toFixed(1)} s behind`;
  if (behind.length === 0) return ok(text);
  return services === 0
    ? note(text)
    : problem(
        `behind: ${behind.join(', ')}`,
        'Watch `exchange read-models status`; if the lag grows, read the logs.',
      );
};

const parked = (healths: readonly ReadModelHealth[]): Finding => {
  const found = healths.filter(({ parkedStreams }) => parkedStreams > 0);
  if (found.length === 0) return ok('none');
  return problem(
    found.map(({ readModel, parkedStreams }) => `${parkedStreams} of ${readModel}`).join(', '),
    'Read the reasons with `exchange parked list`, then `exchange parked retry READ-MODEL`.',
  );
};

/** @throws SealRefusedError when the chain must not be extended */
const seals = async (
  { pool, store, logBytes }: Installation,
  config: Config,
  services: number,
): Promise<Finding> => {
  const keys = logKeysOf(config);
  const { end } = await trustedEnd({ pool, log: logBytes, keys, clock: systemClock }, {});
  const isMore = comparePositions(await store.head(), end.last) > 0;
  const last = await lastCheckpoint(pool);
  const sealedAt = last && sealedAtOf(last);
  const signed = last?.signature === undefined ? 'unsigned' : 'signed';
  const text =
    last === undefined
      ? 'nothing is sealed yet'
      : `chain ${last.chain}, ${signed}, last seal ${sealedAt === undefined ? 'at an unknown time' : relativeTime(sealedAt)}`;
  const lateMs = 1_000 * Math.max(SEAL_LATE_SECONDS, 5 * config.LOG_SEAL_SECONDS);
  const isLate = isMore && sealedAt !== undefined && systemClock.now() - Date.parse(sealedAt) > lateMs;
  if (isLate && services > 0 && config.LOG_SEAL_SECONDS > 0)
    return problem(
      `${text}, later events are not sealed`,
      'Read the logs of the projectors, which say why they do not seal, or run `exchange log seal`.',
    );
  return last === undefined ? note(text) : ok(text);
};

const workList = async ({ pool }: Installation): Promise<Finding> => {
  const { due, oldestSeconds, failing } = await workBacklog(pool);
  const text = `${due} due, ${failing} with failed tries`;
  return oldestSeconds <= WORK_LATE_SECONDS
    ? ok(text)
    : problem(
        `${text}, the oldest due for ${Math.round(oldestSeconds / 60)} min`,
        'Start a process with the role worker, or read the reasons with `exchange work list`.',
      );
};
