import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { executeOnAudience } from '../command/audiences/handler.ts';
import { forgetPeople, PEOPLE_TABLES } from '../command/accounts/forget-people.ts';
import type { Installation } from '../app/installation.ts';
import { personalDataEvents, personalDataStream } from '../domain/personal-data/events.ts';
import { deliveriesTable, restartDeliveries } from '../command/workers/syndication/restart-deliveries.ts';
import { audiencesProjection } from '../projections/audiences.ts';
import { cancelWhenInTheWay } from '../projections/engine/copy/cancel-statements.ts';
import { dropCopy } from '../projections/engine/copy/copy-state.ts';
import { raiseEpoch } from '../projections/engine/checkpoint.ts';
import { startProjections } from '../projections/engine/projection-engine.ts';
import {
  memberTables,
  deleteAllMembers,
  deleteMembers,
  type DeletedMembers,
} from '../projections/delete-members.ts';
import { findAccount } from '../query/accounts/list-accounts.ts';
import { sleep } from '../shared/async/backoff.ts';
import { isoTimestamp, systemClock } from '../shared/async/clock.ts';
import { toNewEvents } from '../shared/aggregate/recorded-domain-event.ts';
import type { Config } from '../app/config.ts';
import { comparePositions, START, type Position } from '../shared/event-store/event-store.ts';
import { derivedId, resourceIdOf } from '../shared/aggregate/ids.ts';
import type { Logger } from 'pino';
import { PERSONAL_KEYS_KNOWN_MS } from '../shared/personal-data/personal-keys.ts';
import { advisoryLocks } from '../shared/postgres/advisory-locks.ts';
import { createPool, inTransaction } from '../shared/postgres/pool.ts';
import { keyRingOf } from '../shared/secrets/key-ring.ts';
import { createSecretStore, type SecretStore } from '../shared/secrets/secret-store.ts';
import { comparable, findPersons, type FoundPersons, type PersonSearch } from './find-persons.ts';

/** Forgets persons (docs/design/records/0008-forgetting.md). A repeat completes an interrupted run. */

export interface ForgetResult {
  readonly forgettingId?: string;
  readonly scope: 'subjects' | 'account';
  /** Log items that can no longer be decrypted; 0 for a whole account, where no item can be. */
  readonly places: number;
  readonly members: number;
  /** Log items that a version without encryption stored in clear text. They remain readable. */
  readonly inClear: number;
}

interface Forgetting extends Pick<Installation, 'store' | 'sealedStore' | 'personalKeys'> {
  readonly customerId: number;
  readonly pool: Pool;
  readonly secrets: SecretStore;
  readonly secretsOf: (client: PoolClient) => SecretStore;
  /** Waits until the read model has applied the log up to this position. */
  readonly reached: (position: Position) => Promise<void>;
}

const TIMEOUTS = { statementMs: 600_000, queryMs: 620_000, connectMs: 5_000 };
const LOOK_EVERY_MS = 50;

/** @throws Error when another process runs `forget` for this account */
export const withForgetting = async <T>(
  installation: Installation,
  config: Config,
  customerId: number,
  log: Logger,
  work: (forgetting: Forgetting) => Promise<T>,
): Promise<T> => {
  const pool = createPool(
    {
      connectionString: installation.databaseUrl,
      applicationName: 'exchange-operator',
      max: 6,
      timeouts: TIMEOUTS,
      system: true,
    },
    log,
  );
  // Without a running service this process must update the rows itself.
  const running = startProjections({
    projections: [audiencesProjection],
    store: installation.store,
    connectionString: installation.databaseUrl,
    pool,
    log,
  });
  const lock = await pool.connect();
  const ring = keyRingOf(config);
  try {
    const { rows } = await lock.query<{ mine: boolean }>('select pg_try_advisory_lock($1, $2) as mine', [
      advisoryLocks.forgetting,
      customerId,
    ]);
    if (rows[0]?.mine !== true) throw new Error(`another process runs forget for account ${customerId}`);
    return await work({
      ...installation,
      customerId,
      pool,
      secrets: createSecretStore(pool, ring),
      secretsOf: (client) => createSecretStore(client, ring),
      reached: async (position) => {
        for (;;) {
          const [status] = await running.status();
          if (status !== undefined && comparePositions(status.position, position) >= 0) return;
          await sleep(LOOK_EVERY_MS);
        }
      },
    });
  } finally {
    lock.release(true);
    await running.stop();
    await pool.end();
  }
};

export const forgetSubjects = async (
  forgetting: Forgetting,
  subjects: readonly string[],
): Promise<ForgetResult> => {
  await recordForgettings(forgetting);
  const wanted = await resumed(forgetting, subjects.map(comparable));
  let [places, inClear] = [0, 0];
  for (let from: Position = START; ;) {
    const head = await forgetting.store.head();
    const { isWhole, ...found } = await findAll(forgetting, wanted, from, head);
    inClear = found.inClear + (isWhole ? 0 : inClear);
    places += found.count;
    await remember(forgetting, wanted);
    await forgetting.personalKeys.puncture(forgetting.customerId, found.places);
    // By now every process has dropped the deleted keys from its cache, and rows read with them are written.
    await sleep(PERSONAL_KEYS_KNOWN_MS);
    await forgetting.reached(head);
    const done = await deletePersons(forgetting, { wanted, places, from: head });
    if (done !== undefined) {
      await cleanUp(forgetting);
      return { ...done, scope: 'subjects', places, inClear };
    }
    from = head;
  }
};

const findAll = async (
  { sealedStore, personalKeys, customerId }: Forgetting,
  wanted: PersonSearch,
  from: Position,
  to: Position,
): Promise<FoundPersons & { readonly isWhole: boolean }> => {
  const scan = { store: sealedStore, keys: personalKeys, customerId, to };
  const before = wanted.ids.size;
  const found = await findPersons({ ...scan, from }, wanted);
  return wanted.ids.size === before
    ? { ...found, isWhole: from === START }
    : { ...(await findPersons({ ...scan, from: START }, wanted)), isWhole: true };
};

/** Stored, encrypted, until the run completes: without keys the log does not show a person's further ids. */
const pendingId = (customerId: number): string => resourceIdOf('forgetting', customerId, 0, 'pending');

const resumed = async (
  { secrets, customerId }: Forgetting,
  subjects: readonly string[],
): Promise<PersonSearch> => {
  const kept = await secrets.get(customerId, pendingId(customerId));
  const before = kept === undefined ? {} : (JSON.parse(kept) as Readonly<Record<string, string[]>>);
  return {
    subjects: new Set([...subjects, ...(before['subjects'] ?? [])]),
    ids: new Set(before['ids'] ?? []),
  };
};

const remember = ({ secrets, customerId }: Forgetting, { subjects, ids }: PersonSearch): Promise<void> =>
  secrets.put(customerId, pendingId(customerId), JSON.stringify({ subjects: [...subjects], ids: [...ids] }), {
    kind: 'forgetting',
    id: pendingId(customerId),
  });

/** Runs while the projection is blocked. @returns undefined when new events contain one of the persons */
const deletePersons = (
  forgetting: Forgetting,
  {
    wanted,
    places,
    from,
  }: { readonly wanted: PersonSearch; readonly places: number; readonly from: Position },
): Promise<Pick<ForgetResult, 'forgettingId' | 'members'> | undefined> =>
  inTransaction(forgetting.pool, async (client) => {
    const { customerId, secretsOf } = forgetting;
    const to = await lockRows(forgetting.pool, client);
    const late = await findPersons(
      { store: forgetting.sealedStore, keys: forgetting.personalKeys, customerId, from, to },
      wanted,
    );
    if (late.count + late.inClear > 0) return undefined;
    const ids = [...wanted.ids, ...wanted.subjects];
    const deleted = await deleteMembers(client, customerId, ids);
    await restartDeliveries(client, customerId, ids);
    await secretsOf(client).remove(customerId, pendingId(customerId));
    return record(client, customerId, { scope: 'subjects', subjects: wanted.subjects.size, places, deleted });
  }).then(async (done) => {
    if (done !== undefined) await recordForgettings(forgetting);
    return done;
  });

export const forgetAccount = async (forgetting: Forgetting): Promise<ForgetResult> => {
  const { pool, customerId, personalKeys, store, reached } = forgetting;
  if ((await findAccount(pool, customerId))?.status !== 'DISABLED') {
    throw new Error(`account ${customerId} must be disabled first: \`accounts disable ${customerId}\``);
  }
  await recordForgettings(forgetting);
  const { inClear } = await findPersons(
    {
      store: forgetting.sealedStore,
      keys: personalKeys,
      customerId,
      from: START,
      to: await store.head(),
    },
    { subjects: new Set(), ids: new Set(), all: true },
  );
  const sets = await personalKeys.forget(customerId);
  await sleep(PERSONAL_KEYS_KNOWN_MS);
  await reached(await store.head());
  const done = await inTransaction(pool, async (client) => {
    await lockRows(pool, client);
    const deleted = await deleteAllMembers(client, customerId);
    const addresses = await forgetPeople(client, customerId);
    await restartDeliveries(client, customerId);
    if (sets === 0 && deleted.size === 0 && addresses === 0) return { members: 0 };
    return record(client, customerId, { scope: 'account', subjects: 0, places: 0, deleted });
  });
  await recordForgettings(forgetting);
  await cleanUp(forgetting);
  return { ...done, scope: 'account', places: 0, inClear };
};

const lockRows = async (pool: Pool, client: PoolClient): Promise<Position> => {
  const position = await raiseEpoch(client, audiencesProjection.name);
  await dropCopyOf(pool, client);
  return position;
};

/** Drops a copy, which may contain forgotten persons; cancels what blocks. Repeat a running rebuild. */
const dropCopyOf = async (pool: Pool, client: PoolClient): Promise<void> => {
  const stop = cancelWhenInTheWay(pool, audiencesProjection.name, () => undefined);
  try {
    await dropCopy(client, audiencesProjection.name);
  } finally {
    await stop();
  }
};

const record = async (
  client: PoolClient,
  customerId: number,
  {
    scope,
    subjects,
    places,
    deleted,
  }: {
    readonly scope: ForgetResult['scope'];
    readonly subjects: number;
    readonly places: number;
    readonly deleted: DeletedMembers;
  },
): Promise<Pick<ForgetResult, 'forgettingId' | 'members'>> => {
  const members = [...deleted.values()].reduce((sum, count) => sum + count, 0);
  if (scope === 'subjects' && places === 0 && deleted.size === 0) return { members };
  const forgettingId = randomUUID();
  await client.query(
    `insert into forgettings (customer_id, id, scope, subjects, places, members) values ($1, $2, $3, $4, $5, $6)`,
    [customerId, forgettingId, scope, subjects, places, JSON.stringify(Object.fromEntries(deleted))],
  );
  return { forgettingId, members };
};

interface UnrecordedForgetting {
  readonly id: string;
  readonly scope: ForgetResult['scope'];
  readonly subjects: number;
  readonly places: number;
  readonly members: Readonly<Record<string, number>>;
}

/** Records the completed work in the log, and makes the workers deliver the changed audiences again. */
const recordForgettings = async ({ pool, store, customerId }: Forgetting): Promise<void> => {
  const { rows } = await pool.query<UnrecordedForgetting>(
    `select id, scope, subjects, places::float8 as places, members from forgettings
     where customer_id = $1 and told_at is null order by done_at`,
    [customerId],
  );
  for (const { id: forgettingId, scope, subjects, places, members: byAudience } of rows) {
    const now = isoTimestamp(systemClock.now());
    const context = { customerId, actor: 'operator', requestId: forgettingId };
    let members = 0;
    for (const [audienceId, count] of Object.entries(byAudience)) {
      members += count;
      await executeOnAudience(
        { store },
        audienceId,
        { type: 'RecordForgotten', now, forgettingId, members: count },
        { context: { ...context, commandId: derivedId(forgettingId, audienceId) } },
      );
    }
    const data = { forgettingId, scope, subjects, places, members };
    const events = [{ type: 'PersonalDataForgotten', data, occurredAt: now }];
    const recorded = toNewEvents(events, { ...context, commandId: forgettingId }, personalDataEvents);
    await store.append(personalDataStream(customerId), recorded, 'any');
    await pool.query('update forgettings set told_at = now() where customer_id = $1 and id = $2', [
      customerId,
      forgettingId,
    ]);
  }
};

/** Deleted values remain in the table pages until VACUUM. */
const cleanUp = async ({ pool }: Forgetting): Promise<void> => {
  for (const table of ['secrets', ...memberTables, ...PEOPLE_TABLES, deliveriesTable])
    await pool.query(`vacuum ${table}`);
};
