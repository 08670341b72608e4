import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { EventStoreUnavailableError } from '../event-store/event-store.ts';
import { derivedId } from '../aggregate/ids.ts';
import { inTransaction } from '../postgres/pool.ts';
import { loadOnce, type KeyRing } from '../secrets/key-ring.ts';
import { unseal } from '../secrets/seal.ts';
import { createSecretStore, purposeOf } from '../secrets/secret-store.ts';
import { nodeOf, punctured, SEED_BYTES, type KeyTree, type Node } from './key-tree.ts';
import type { KeySet } from './sealed-items.ts';

/** The keys encrypt personal data in the log. They cannot be rebuilt. */
export interface PersonalKeys {
  /** Creates the keys if needed. @throws EventStoreUnavailableError */
  current(customerId: number): Promise<KeySet>;
  /** Undefined if the account's keys were deleted. @throws MissingKeysError, EventStoreUnavailableError */
  of(customerId: number, id: string): Promise<KeySet | undefined>;
  /** Other processes may use cached keys for another `PERSONAL_KEYS_KNOWN_MS`. */
  puncture(customerId: number, places: ReadonlyMap<string, readonly string[]>): Promise<void>;
  /** Later data gets new keys. @returns the number of deleted key sets */
  forget(customerId: number): Promise<number>;
}

/** Never deleted, but missing: the database is older than the log, or belongs to another log. */
export class MissingKeysError extends Error {
  override readonly name = 'MissingKeysError';
}

export const PERSONAL_KEYS_KNOWN_MS = 2_000;
const ACCOUNTS_MAX = 1_000;
const OWNER_KIND = 'personal-keys';

interface CachedKeySet {
  readonly version: number;
  readonly keys: KeySet | undefined;
}

interface Account {
  readonly sets: ReadonlyMap<string, CachedKeySet>;
}

export const createPersonalKeys = (pool: Pool, ask: () => Promise<KeyRing>): PersonalKeys => {
  const ring = loadOnce(ask);
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
    // From the time of the request, so that no key is used for longer than promised.
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
        throw new EventStoreUnavailableError(`the keys of account ${customerId} are being deleted`);
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

export const storedKeySets = async (pool: Pick<Pool, 'query'>): Promise<ReadonlySet<string>> => {
  const { rows } = await pool.query<{ id: string }>(
    `select p.id from personal_keys p where p.forgotten_at is null and exists (select from secrets s
       where s.customer_id = p.customer_id and s.owner_kind = $1 and s.owner_id::text = p.id::text)`,
    [OWNER_KIND],
  );
  return new Set(rows.map(({ id }) => id));
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
    const sets = new Map<string, CachedKeySet>();
    for (const { id, version, forgotten } of rows) {
      const known = before?.sets.get(id);
      if (known?.version === version) sets.set(id, known);
      else sets.set(id, { version, keys: forgotten ? undefined : await readSet(pool, ring, customerId, id) });
    }
    return { sets };
  });

interface StoredSeeds {
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
    const kept = JSON.parse(unseal(keys, purposeOf(customerId, row.id), row)) as StoredSeeds;
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
    const kept: StoredSeeds = { path, seeds: seeds.map((seed) => seed?.toString('base64') ?? null) };
    await secrets.put(customerId, derivedId(id, `node ${path}`), JSON.stringify(kept), {
      kind: OWNER_KIND,
      id,
    });
  }
};

/** Two processes may create keys at the same time: both key sets stay valid. */
const createKeys = (pool: Pool, ring: () => Promise<KeyRing>, customerId: number): Promise<void> =>
  inTransaction(pool, async (client) => {
    const id = randomUUID();
    await client.query('insert into personal_keys (customer_id, id) values ($1, $2)', [customerId, id]);
    const whole: StoredSeeds = { whole: randomBytes(SEED_BYTES).toString('base64') };
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
