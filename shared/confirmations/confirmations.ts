import type { Pool } from 'pg';
import type { KeyedDigest } from '../secrets/keyed-digest.ts';

const LIFE_MINUTES = 15;
/** Time in which the command that used a confirmation may be repeated. */
const KEPT_DAYS = 3;

export interface Confirmation {
  readonly customerId: number;
  readonly uid: string;
  readonly fingerprint: Buffer;
}

/** Previewed calls may be executed once within 15 minutes by the database's clock. */
export interface Confirmations {
  /** @returns the expiry in milliseconds since the epoch */
  offer(confirmation: Confirmation): Promise<number>;
  /** A repeat may use it again. @returns `expired` also after another command's use; `other`: another call */
  use(confirmation: Confirmation, commandId: string): Promise<'used' | 'expired' | 'other'>;
  /** The command has used it before, and is repeated now. */
  isUsedBy(confirmation: Pick<Confirmation, 'customerId' | 'uid'>, commandId: string): Promise<boolean>;
  /** Only after a command that certainly had no effect. */
  giveBack(confirmation: Confirmation, commandId: string): Promise<void>;
  /** The person said no: it can never be used. One that a command has used stays. */
  withdraw(customerId: number, uid: string): Promise<void>;
  purge(rowsMax: number): Promise<number>;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const isConfirmationUid = (uid: string): boolean => UUID.test(uid);

/** @param keyedDigest a plain hash would allow guessing the `userMatch` of a call by trial */
export const createConfirmations = (pool: Pick<Pool, 'query'>, keyedDigest: KeyedDigest): Confirmations => ({
  offer: async ({ customerId, uid, fingerprint }) => {
    const { rows } = await pool.query<{ expires: Date }>({
      name: 'confirmation-offer',
      text: `insert into confirmations as c (customer_id, uid, fingerprint) values ($1, $2, $3)
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
      text: `update confirmations set used_by = case when fingerprint = $3 then $4::uuid else used_by end
             where customer_id = $1 and uid = $2 and (used_by = $4
               or used_by is null and created_at > clock_timestamp() - interval '${LIFE_MINUTES} minutes')
             returning fingerprint = $3 as "isSame"`,
      values: [customerId, uid, await keyedDigest(fingerprint), commandId],
    });
    const [row] = rows;
    if (row === undefined) return 'expired';
    return row.isSame ? 'used' : 'other';
  },
  isUsedBy: async ({ customerId, uid }, commandId) => {
    const { rowCount } = await pool.query({
      name: 'confirmation-is-used-by',
      text: `select from confirmations where customer_id = $1 and uid = $2 and used_by = $3`,
      values: [customerId, uid, commandId],
    });
    return rowCount === 1;
  },
  giveBack: async ({ customerId, uid }, commandId) => {
    await pool.query({
      name: 'confirmation-give-back',
      text: `update confirmations set used_by = null
             where customer_id = $1 and uid = $2 and used_by = $3`,
      values: [customerId, uid, commandId],
    });
  },
  withdraw: async (customerId, uid) => {
    await pool.query({
      name: 'confirmation-withdraw',
      text: `delete from confirmations where customer_id = $1 and uid = $2 and used_by is null`,
      values: [customerId, uid],
    });
  },
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'confirmation-purge',
      text: `delete from confirmations where (customer_id, uid) in (
               select customer_id, uid from confirmations
               where created_at < clock_timestamp() - interval '${KEPT_DAYS} days'
               order by created_at limit $1 for update skip locked)`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});
