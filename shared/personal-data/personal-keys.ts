import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { EventStoreUnavailableError } from '../event-store/event-store.ts';
import { derivedId } from '../aggregate/ids.ts';
import { inTransaction } from '../postgres/pool.ts';
import { askedOnce, type KeyRing } from '../secrets/key-ring.ts';
import { unseal } from '../secrets/seal.ts';
import { createSecretStore, purposeOf } from '../secrets/secret-store.ts';
import { nodeOf, punctured, SEED_BYTES, type KeyTree, type Node } from './key-tree.ts';
import type { KeySet } from './sealed-items.ts';

/**
 * The keys that accounts' personal data in the log are sealed with, encrypted among the secrets (`owner_kind`
 * `personal-keys`); `personal_keys` says which there are. They are no read model: what they have sealed is lost with them.
 */
export interface PersonalKeys {
  /** What the account seals with now; made when there is none. @throws EventStoreUnavailableError */
  current(customerId: number): Promise<KeySet>;
  /**
   * What something was sealed with; undefined when the account was forgotten.
   * @throws MissingKeysError when such keys are not there, and nobody has said that they go;
   *   EventStoreUnavailableError when they cannot be read now
   */
  of(customerId: number, id: string): Promise<KeySet | undefined>;
  /**
   * Takes keys of single things away. Done at once in the database; other processes know it `PERSONAL_KEYS_KNOWN_MS`
   * later.
   * @param places by the id of their keys
   */
  puncture(customerId: number, places: ReadonlyMap<string, readonly string[]>): Promise<void>;
  /** Takes all keys of the account away. What it seals later has others. @returns how many there were */
  forget(customerId: number): Promise<number>;
}

/** Nobody has taken them away: the database is older than the log, or another one. */
export class MissingKeysError extends Error {
  override readonly name = 'MissingKeysError';
}

/** How long a process goes by the keys that it has read. */
export const PERSONAL_KEYS_KNOWN_MS = 2_000;
/** Accounts whose keys are kept in memory. */
const ACCOUNTS_MAX = 1_000;
const OWNER_KIND = 'personal-keys';

interface Known {
  readonly version: number;
  /** Undefined: forgotten. */
  readonly keys: KeySet | undefined;
}

interface Account {
  /** By id, the newest last. */
  readonly sets: ReadonlyMap<string, Known>;
}

/** @param ask for the keys of the installation, which encrypt these */
export const createPersonalKeys = (pool: Pool, ask: () => Promise<KeyRing>): PersonalKeys => {
  const ring = askedOnce(ask);
  const accounts = new Map<number, Promise<Account>>();
  const fresh = new Map<number, number>();

  const read = (customerId: number): Promise<Account> => {
    const before = accounts.get(customerId);
    if (
      before !== undefined &&
      performance.now() - (fresh.get(customerId) ?? -Infinity) < PERSONAL_KEYS_KNOWN_MS
    ) {
      return before;
    }
    // By the time that it was asked for, not answered: never known longer than is said.
    fresh.set(customerId, performance.now());
    const reading = (before ?? Promise.resolve(undefined))
      .catch(() => undefined)
      .then((known) => readAccount(pool, ring, customerId, known));
    accounts.delete(customerId);
    accounts.set(customerId, reading);
    reading.catch(() => forgetCached(customerId));
    for (const [oldest] of accounts) {
      if (accounts.size <= ACCOUNTS_MAX) break;
      forgetCached(oldest);
    }
    return reading;
  };
  const forgetCached = (customerId: number): void => {
    accounts.delete(customerId);
    fresh.delete(customerId);
  };

  return {
    current: async (customerId) => {
      const newest = newestOf(await read(customerId));
      if (newest !== undefined) return newest;
      await asUnavailable(() => createKeys(pool, ring, customerId));
      forgetCached(customerId);
      const made = newestOf(await read(customerId));
      if (made === undefined)
        throw new EventStoreUnavailableError(`account ${customerId} is being forgotten`);
      return made;
    },
    of: async (customerId, id) => {
      let known = (await read(customerId)).sets.get(id);
      if (known === undefined) {
        forgetCached(customerId);
        known = (await read(customerId)).sets.get(id);
      }
      if (known !== undefined) return known.keys;
      throw new MissingKeysError(
        `the keys ${id} of account ${customerId}'s personal data are missing: restore the tables personal_keys and secrets`,
      );
    },
    puncture: async (customerId, places) => {
      for (const [id, some] of places) {
        await inTransaction(pool, (client) => punctureSet(client, ring, customerId, id, some));
      }
      forgetCached(customerId);
    },
    forget: async (customerId) => {
      const count = await inTransaction(pool, (client) => forgetAll(client, customerId));
      forgetCached(customerId);
      return count;
    },
  };
};

const newestOf = ({ sets }: Account): KeySet | undefined =>
  [...sets.values()].findLast(({ keys }) => keys !== undefined)?.keys;

const asUnavailable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EventStoreUnavailableError) throw error;
    throw new EventStoreUnavailableError('the keys of personal data cannot be read', { cause: error });
  }
};

const readAccount = (
  pool: Pool,
  ring: () => Promise<KeyRing>,
  customerId: number,
  before: Account | undefined,
): Promise<Account> =>
  asUnavailable(async () => {
    const { rows } = await pool.query<{ id: string; version: number; forgotten: boolean }>({
      name: 'personal-keys-list',
      text: `select id, version::float8 as version, forgotten_at is not null as forgotten
             from personal_keys where customer_id = $1 order by created_at, id`,
      values: [customerId],
    });
    const sets = new Map<string, Known>();
    for (const { id, version, forgotten } of rows) {
      const known = before?.sets.get(id);
      if (known?.version === version) sets.set(id, known);
      else sets.set(id, { version, keys: forgotten ? undefined : await readSet(pool, ring, customerId, id) });
    }
    return { sets };
  });

/** As it is kept: the key of the whole, or the node of a path. */
interface KeptText {
  readonly whole?: string;
  readonly path?: string;
  readonly seeds?: readonly (string | null)[];
}

const readSet = async (
  pool: Pick<Pool | PoolClient, 'query'>,
  ring: () => Promise<KeyRing>,
  customerId: number,
  id: string,
): Promise<KeySet> => {
  const { rows } = await pool.query<{ id: string; keyId: string; bytes: Buffer }>({
    name: 'personal-keys-read',
    text: `select id, key_id as "keyId", sealed as bytes from secrets where customer_id = $1 and owner_kind = $2 and owner_id = $3`,
    values: [customerId, OWNER_KIND, id],
  });
  const keys = await ring();
  const tree = new Map<string, Node>();
  let whole: Buffer | undefined;
  for (const row of rows) {
    const kept = JSON.parse(unseal(keys, purposeOf(customerId, row.id), row)) as KeptText;
    if (kept.whole !== undefined) whole = Buffer.from(kept.whole, 'base64');
    if (kept.path === undefined || kept.seeds === undefined) continue;
    tree.set(
      kept.path,
      kept.seeds.map((seed) => (seed === null ? undefined : Buffer.from(seed, 'base64'))),
    );
  }
  if (whole === undefined) throw new EventStoreUnavailableError(`the keys ${id} are incomplete`);
  return { id, whole, tree };
};

const keepNodes = async (
  client: PoolClient,
  ring: () => Promise<KeyRing>,
  customerId: number,
  id: string,
  nodes: KeyTree,
): Promise<void> => {
  const secrets = createSecretStore(client, ring);
  for (const [path, seeds] of nodes) {
    const kept: KeptText = { path, seeds: seeds.map((seed) => seed?.toString('base64') ?? null) };
    await secrets.put(customerId, derivedId(id, `node ${path}`), JSON.stringify(kept), {
      kind: OWNER_KIND,
      id,
    });
  }
};

/** Two processes may do so at once: then there are two, and both are good. */
const createKeys = (pool: Pool, ring: () => Promise<KeyRing>, customerId: number): Promise<void> =>
  inTransaction(pool, async (client) => {
    const id = randomUUID();
    await client.query('insert into personal_keys (customer_id, id) values ($1, $2)', [customerId, id]);
    const whole: KeptText = { whole: randomBytes(SEED_BYTES).toString('base64') };
    const secrets = createSecretStore(client, ring);
    await secrets.put(customerId, derivedId(id, 'whole'), JSON.stringify(whole), { kind: OWNER_KIND, id });
    await keepNodes(client, ring, customerId, id, new Map([['', nodeOf(randomBytes(SEED_BYTES * 16))]]));
  });

const punctureSet = async (
  client: PoolClient,
  ring: () => Promise<KeyRing>,
  customerId: number,
  id: string,
  places: readonly string[],
): Promise<void> => {
  const { rows } = await client.query<{ forgotten: boolean }>(
    `update personal_keys set version = version + 1 where customer_id = $1 and id = $2
     returning forgotten_at is not null as forgotten`,
    [customerId, id],
  );
  if (rows[0]?.forgotten !== false) return;
  const { tree } = await readSet(client, ring, customerId, id);
  await keepNodes(client, ring, customerId, id, punctured(tree, places));
};

const forgetAll = async (client: PoolClient, customerId: number): Promise<number> => {
  const { rowCount } = await client.query(
    `update personal_keys set forgotten_at = now(), version = version + 1
     where customer_id = $1 and forgotten_at is null`,
    [customerId],
  );
  await client.query('delete from secrets where customer_id = $1 and owner_kind = $2', [
    customerId,
    OWNER_KIND,
  ]);
  return rowCount ?? 0;
};
