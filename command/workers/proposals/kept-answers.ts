import { createHash } from 'node:crypto';
import { json } from 'node:stream/consumers';
import type { Pool } from 'pg';
import { answerKey } from '../../../domain/proposals/resource.ts';
import type { Purgeable } from '../../../shared/async/purge-regularly.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { objectKeyOf, type ObjectKey, type ObjectStore } from '../../../shared/storage/object-store.ts';

/** The whole answers of sellers, for disputes: events contain what the API shows of them. */
export interface KeptAnswers extends Purgeable {
  /** Equal answers to one account are one object. @returns its SHA-256 in hex, and its key */
  keep(customerId: number, answer: JsonObject): Promise<{ readonly digest: string; readonly ref: string }>;
  /** Undefined if the account has none with this digest any more. */
  read(customerId: number, digest: string): Promise<unknown>;
}

export interface KeptAnswersOptions {
  readonly pool: Pick<Pool, 'query' | 'connect'>;
  readonly objects: ObjectStore;
  /** Days after which an answer is deleted, from the last time that a seller gave it. */
  readonly days: number;
}

export const createKeptAnswers = ({ pool, objects, days }: KeptAnswersOptions): KeptAnswers => ({
  keep: async (customerId, answer) => {
    const bytes = Buffer.from(JSON.stringify(answer));
    const digest = createHash('sha256').update(bytes).digest('hex');
    const ref = answerKey(customerId, digest);
    // Before the object, so that none remains without a row; and it waits for a purge of the same object.
    await pool.query({
      name: 'proposal-answer-keep',
      text: `insert into proposal_answers (customer_id, storage_key, kept_until)
             values ($1, $2, clock_timestamp() + interval '${days} days')
             on conflict (storage_key) do update set kept_until = excluded.kept_until`,
      values: [customerId, ref],
    });
    await write(objects, keyOf(ref), bytes);
    return { digest, ref };
  },
  read: async (customerId, digest) => {
    const stream = await objects.read(keyOf(answerKey(customerId, digest)));
    return stream === undefined ? undefined : json(stream);
  },
  purge: async (rowsMax, signal) => {
    let purged = 0;
    const failures: unknown[] = [];
    while (purged + failures.length < rowsMax && signal?.aborted !== true) {
      const outcome = await purgeOne(pool, objects);
      if (outcome === 'none is due') break;
      if (outcome === 'purged') purged += 1;
      else failures.push(outcome.failure);
    }
    if (failures.length > 0) throw failures[0];
    return purged;
  },
});

const keyOf = (ref: string): ObjectKey => {
  const key = objectKeyOf(ref);
  if (key === undefined) throw new Error(`invalid key of an object: ${ref}`);
  return key;
};

const write = async (objects: ObjectStore, key: ObjectKey, bytes: Buffer): Promise<void> => {
  if ((await objects.sizeOf(key)) !== undefined) return;
  const draft = await objects.begin(key, 'application/json');
  try {
    await draft.write(oneOf(bytes));
  } catch (error) {
    await draft.discard();
    throw error;
  }
  await draft.keep();
};

const oneOf = async function* (bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
};

type Outcome = 'purged' | 'none is due' | { readonly failure: unknown };

/** The pause of an object that cannot be deleted: others must not wait for it. */
const FAILED_PAUSE = '1 hour';

/** Holds the row until the object is gone: a seller may give the same answer now. */
const purgeOne = async (pool: KeptAnswersOptions['pool'], objects: ObjectStore): Promise<Outcome> => {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query<{ readonly ref: string }>({
      name: 'proposal-answer-purge',
      text: `select storage_key as ref from proposal_answers where kept_until < clock_timestamp()
             order by kept_until limit 1 for update skip locked`,
    });
    const ref = rows[0]?.ref;
    const outcome = ref === undefined ? 'none is due' : await removed(objects, ref);
    if (outcome === 'purged') {
      await client.query('delete from proposal_answers where storage_key = $1', [ref]);
    } else if (outcome !== 'none is due') {
      await client.query(
        `update proposal_answers set kept_until = clock_timestamp() + interval '${FAILED_PAUSE}' where storage_key = $1`,
        [ref],
      );
    }
    await client.query('commit');
    return outcome;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
};

const removed = async (objects: ObjectStore, ref: string): Promise<Outcome> => {
  try {
    await objects.remove(keyOf(ref));
    return 'purged';
  } catch (failure) {
    return { failure };
  }
};
