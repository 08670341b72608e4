import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { executeOnAudience } from '../command/audiences/sync-audiences.ts';
import type { Backbone } from '../app/composition.ts';
import { personalDataEvents, personalDataStream } from '../domain/personal-data/personal-data-events.ts';
import { audiencesProjection } from '../projections/audiences.ts';
import { cancelWhenInTheWay } from '../projections/engine/copy/cancel-statements.ts';
import { dropCopy } from '../projections/engine/copy/copy-state.ts';
import { startProjections } from '../projections/engine/projection-engine.ts';
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
import { comparable, findPersons, type FoundPersons, type Wanted } from './find-persons.ts';
import { takeOutAll, takeOutPersons, type TakenOut } from './take-out-persons.ts';

/**
 * Forgets persons, or all persons of an account (docs/records/0008-forgetting.md). Works beside a running service and
 * without one. Ended anywhere and begun again with the same words, it comes to the same.
 */

export interface Forgotten {
  /** Undefined when nothing was found. */
  readonly forgettingId?: string;
  readonly scope: 'subjects' | 'account';
  /** Places in the log that cannot be read any more; 0 of a whole account, where none can. */
  readonly places: number;
  /** Rows that went from audiences. */
  readonly members: number;
  /** Places in the log that were written in clear, by a version before the first that seals: they stay. */
  readonly inClear: number;
}

interface Forgetting extends Pick<Backbone, 'store' | 'sealedStore' | 'personalKeys'> {
  readonly customerId: number;
  readonly pool: Pool;
  readonly secrets: SecretStore;
  readonly secretsOf: (client: PoolClient) => SecretStore;
  /** Waits until the rows hold all that is in the log up to there. */
  readonly reached: (position: Position) => Promise<void>;
}

/** An operator's statements may touch millions of rows. */
const TIMEOUTS = { statementMs: 600_000, queryMs: 620_000, connectMs: 5_000 };
const LOOK_EVERY_MS = 50;

/** @throws Error when somebody else is at it for this account */
export const withForgetting = async <T>(
  backbone: Backbone,
  config: Config,
  customerId: number,
  log: Logger,
  work: (forgetting: Forgetting) => Promise<T>,
): Promise<T> => {
  const pool = createPool(
    {
      connectionString: backbone.databaseUrl,
      applicationName: 'exchange-operator',
      max: 6,
      timeouts: TIMEOUTS,
      system: true,
    },
    log,
  );
  // Without a running service nobody else brings the rows up to date.
  const running = startProjections({
    projections: [audiencesProjection],
    store: backbone.store,
    connectionString: backbone.databaseUrl,
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
    if (rows[0]?.mine !== true) throw new Error(`somebody else forgets persons of account ${customerId} now`);
    return await work({
      ...backbone,
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

/** Persons by what is known of them: hashes of e-mail or phone, the buyer's own id, or any other identifier of theirs. */
export const forgetSubjects = async (
  forgetting: Forgetting,
  subjects: readonly string[],
): Promise<Forgotten> => {
  await tell(forgetting);
  const wanted = await resumed(forgetting, subjects.map(comparable));
  let [places, inClear] = [0, 0];
  for (let from: Position = START; ;) {
    const head = await forgetting.store.head();
    const { isWhole, ...found } = await findAll(forgetting, wanted, from, head);
    inClear = found.inClear + (isWhole ? 0 : inClear);
    places += found.count;
    await remember(forgetting, wanted);
    await forgetting.personalKeys.puncture(forgetting.customerId, found.places);
    // By then no process knows the keys any more, and what was read with them is in the rows.
    await sleep(PERSONAL_KEYS_KNOWN_MS);
    await forgetting.reached(head);
    const taken = await takeOut(forgetting, { wanted, places, from: head });
    if (taken !== undefined) {
      await cleanUp(forgetting);
      return { ...taken, scope: 'subjects', places, inClear };
    }
    from = head;
  }
};

/** Ids that turn up on the way are looked for from the start. */
const findAll = async (
  { sealedStore, personalKeys, customerId }: Forgetting,
  wanted: Wanted,
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

/** Who is being forgotten is known, encrypted, until it is done: from the log it cannot be told again. */
const pendingId = (customerId: number): string => resourceIdOf('forgetting', customerId, 0, 'pending');

const resumed = async ({ secrets, customerId }: Forgetting, subjects: readonly string[]): Promise<Wanted> => {
  const kept = await secrets.get(customerId, pendingId(customerId));
  const before = kept === undefined ? {} : (JSON.parse(kept) as Readonly<Record<string, string[]>>);
  return {
    subjects: new Set([...subjects, ...(before['subjects'] ?? [])]),
    ids: new Set(before['ids'] ?? []),
  };
};

const remember = ({ secrets, customerId }: Forgetting, { subjects, ids }: Wanted): Promise<void> =>
  secrets.put(customerId, pendingId(customerId), JSON.stringify({ subjects: [...subjects], ids: [...ids] }), {
    kind: 'forgetting',
    id: pendingId(customerId),
  });

/**
 * Takes persons out of the rows while no read model moves. What came to the log since it was looked through is looked
 * through first.
 * @returns undefined when one of them came again meanwhile
 */
const takeOut = (
  forgetting: Forgetting,
  { wanted, places, from }: { readonly wanted: Wanted; readonly places: number; readonly from: Position },
): Promise<Pick<Forgotten, 'forgettingId' | 'members'> | undefined> =>
  inTransaction(forgetting.pool, async (client) => {
    const { customerId, secretsOf } = forgetting;
    const to = await lockRows(forgetting.pool, client);
    const late = await findPersons(
      { store: forgetting.sealedStore, keys: forgetting.personalKeys, customerId, from, to },
      wanted,
    );
    if (late.count + late.inClear > 0) return undefined;
    const taken = await takeOutPersons(client, customerId, [...wanted.ids, ...wanted.subjects]);
    await secretsOf(client).remove(customerId, pendingId(customerId));
    return record(client, customerId, { scope: 'subjects', subjects: wanted.subjects.size, places, taken });
  }).then(async (done) => {
    if (done !== undefined) await tell(forgetting);
    return done;
  });

/** All persons of an account: nothing that was sealed for it can be read from now on. */
export const forgetAccount = async (forgetting: Forgetting): Promise<Forgotten> => {
  const { pool, customerId, personalKeys, store, reached } = forgetting;
  const { rows } = await pool.query<{ disabled: boolean }>(
    'select disabled_at is not null as disabled from accounts where customer_id = $1',
    [customerId],
  );
  if (rows[0]?.disabled !== true) {
    throw new Error(`account ${customerId} must be disabled first: \`accounts disable ${customerId}\``);
  }
  await tell(forgetting);
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
    const taken = await takeOutAll(client, customerId);
    if (sets === 0 && taken.size === 0) return { members: 0 };
    return record(client, customerId, { scope: 'account', subjects: 0, places: 0, taken });
  });
  await tell(forgetting);
  await cleanUp(forgetting);
  return { ...done, scope: 'account', places: 0, inClear };
};

/** From then on rows may be changed without an event: whoever fills them begins again behind it. */
const lockRows = async (pool: Pool, client: PoolClient): Promise<Position> => {
  const { rows } = await client.query<{ position: Position }>(
    'update projection_checkpoints set epoch = epoch + 1 where name = $1 returning position',
    [audiencesProjection.name],
  );
  await dropCopyOf(pool, client);
  return rows[0]?.position ?? START;
};

/**
 * A copy that is made beside the rows, or that a run has left, may hold who is gone now: it is dropped, and begun anew.
 * The fence is held meanwhile: what another process does with the copy just now is cancelled.
 */
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
    taken,
  }: {
    readonly scope: Forgotten['scope'];
    readonly subjects: number;
    readonly places: number;
    readonly taken: TakenOut;
  },
): Promise<Pick<Forgotten, 'forgettingId' | 'members'>> => {
  const members = [...taken.values()].reduce((sum, count) => sum + count, 0);
  if (scope === 'subjects' && places === 0 && taken.size === 0) return { members };
  const forgettingId = randomUUID();
  await client.query(
    `insert into forgettings (customer_id, id, scope, subjects, places, members) values ($1, $2, $3, $4, $5, $6)`,
    [customerId, forgettingId, scope, subjects, places, JSON.stringify(Object.fromEntries(taken))],
  );
  return { forgettingId, members };
};

interface Untold {
  readonly id: string;
  readonly scope: Forgotten['scope'];
  readonly subjects: number;
  readonly places: number;
  readonly members: Readonly<Record<string, number>>;
}

/** Puts what was done on record, and has agents brought the audiences anew. */
const tell = async ({ pool, store, customerId }: Forgetting): Promise<void> => {
  const { rows } = await pool.query<Untold>(
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

/** What was replaced is still in the pages of the tables until they are cleaned. */
const cleanUp = async ({ pool }: Forgetting): Promise<void> => {
  const members = ['audience_members', 'audience_removals', 'audience_batches'];
  for (const table of ['secrets', ...members, 'syndication_deliveries']) {
    await pool.query(`vacuum ${table}`);
  }
};
