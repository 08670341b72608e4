import type { Pool } from 'pg';
import type { KeyedDigest } from '../../shared/secrets/keyed-digest.ts';

/** How long what was shown may be confirmed (decisions.md E14). */
const LIFE_MINUTES = 15;
/** A command that has used one may be repeated until then. */
const KEPT_DAYS = 3;

export interface Confirmation {
  readonly customerId: number;
  readonly uid: string;
  /** Of the call that is confirmed. */
  readonly fingerprint: Buffer;
}

/** Calls that were shown before they are carried out: each may be, once, within 15 minutes by the database's clock. */
export interface Confirmations {
  /** @returns until when it may be confirmed, in milliseconds since the epoch */
  offer(confirmation: Confirmation): Promise<number>;
  /**
   * Takes one for a command. The same command may take it again, whenever: it is being repeated.
   * @returns `expired` when there is none, or its time is over, or another command has used it; `other` when it is of
   *   another call
   */
  use(confirmation: Confirmation, commandId: string): Promise<'used' | 'expired' | 'other'>;
  /** After a command that certainly had no effect: the confirmation that it took may be used again. */
  giveBack(confirmation: Confirmation, commandId: string): Promise<void>;
  /** @returns how many rows went */
  purge(rowsMax: number): Promise<number>;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const isConfirmationUid = (uid: string): boolean => UUID.test(uid);

/** @param keyedDigest of what is kept of a call: a plain hash of one with a `userMatch` could be tried out */
export const createConfirmations = (pool: Pick<Pool, 'query'>, keyedDigest: KeyedDigest): Confirmations => ({
  offer: async ({ customerId, uid, fingerprint }) => {
    const { rows } = await pool.query<{ expires: Date }>({
      name: 'confirmation-offer',
      text: `insert into conversion_confirmations as c (customer_id, uid, fingerprint) values ($1, $2, $3)
             on conflict (customer_id, uid) do update set created_at = case when c.used_by is null
               then excluded.created_at else c.created_at end
             returning created_at + interval '${LIFE_MINUTES} minutes' as expires`,
      values: [customerId, uid, await keyedDigest(fingerprint)],
    });
    return rows[0]?.expires.getTime() ?? 0;
  },
  use: async ({ customerId, uid, fingerprint }, commandId) => {
    const { rows } = await pool.query<{ isSame: boolean }>({
      name: 'confirmation-use',
      text: `update conversion_confirmations set used_by = case when fingerprint = $3 then $4::uuid else used_by end
             where customer_id = $1 and uid = $2 and (used_by = $4
               or used_by is null and created_at > clock_timestamp() - interval '${LIFE_MINUTES} minutes')
             returning fingerprint = $3 as "isSame"`,
      values: [customerId, uid, await keyedDigest(fingerprint), commandId],
    });
    const [row] = rows;
    if (row === undefined) return 'expired';
    return row.isSame ? 'used' : 'other';
  },
  giveBack: async ({ customerId, uid }, commandId) => {
    await pool.query({
      name: 'confirmation-give-back',
      text: `update conversion_confirmations set used_by = null
             where customer_id = $1 and uid = $2 and used_by = $3`,
      values: [customerId, uid, commandId],
    });
  },
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'confirmation-purge',
      text: `delete from conversion_confirmations where (customer_id, uid) in (
               select customer_id, uid from conversion_confirmations
               where created_at < clock_timestamp() - interval '${KEPT_DAYS} days'
               order by created_at limit $1 for update skip locked)`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});
