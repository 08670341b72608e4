import { randomUUID } from 'node:crypto';
import { ENDED_KEYS_DAYS } from '../../domain/accounts/account.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { REPLAY_HOURS } from '../../shared/idempotency/claim.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { createSweep } from '../../shared/work-list/sweep.ts';
import { loadAccount, runOnAccount, type InstallationWrites } from './handler.ts';

/** Abandoned idempotency keys are kept this long, so a repeat may complete the command until then. */
const UNANNOUNCED_HOURS = 2 * REPLAY_HOURS;

interface DueKey {
  readonly customerId: number;
  readonly keyId: string;
  readonly dueAt: string;
}

interface RetiredRow {
  readonly keyId: string;
  readonly announced: boolean;
  readonly revoked: boolean;
}

const ACTOR = 'worker:retire-keys';
const endedAt = 'least(revoked_at, expires_at)';
const ended = `${endedAt} <= now() - interval '${ENDED_KEYS_DAYS} days'
  and (revoked_at is not null or expires_at is not null)`;
const unannounced = `created_at <= now() - interval '${UNANNOUNCED_HOURS} hours' and not announced`;

/**
 * Deletes ended keys after 90 days, unannounced ones after two; those in the stream are activated instead. A
 * revoked key that it still counts is revoked there first, or it would count against the limit forever.
 */
export const createRetiredKeys = (writes: InstallationWrites): Purgeable =>
  createSweep<DueKey>({
    find: (after, rowsMax) => findDue(writes, after, rowsMax),
    // Covers all keys of the account, so its other rows need no work.
    work: ({ customerId }) => retireOf(writes, customerId),
  });

/** Each condition has its own index. */
const findDue = async (
  { pool }: InstallationWrites,
  after: DueKey | undefined,
  rowsMax: number,
): Promise<readonly DueKey[]> => {
  const dueBy = (at: string, condition: string): string =>
    `(select customer_id, key_id, ${at} as due_at from api_keys
      where ${condition} and ${at} >= $1::timestamptz and (${at}, key_id) > ($1::timestamptz, $2)
      order by ${at}, key_id limit $3)`;
  const { rows } = await pool.query<DueKey>({
    name: 'retired-keys',
    text: `select customer_id::float8 as "customerId", key_id as "keyId", due_at::text as "dueAt"
           from (${dueBy('created_at', unannounced)} union all ${dueBy(endedAt, `${ended} and announced`)}) due
           order by due.due_at, key_id limit $3`,
    values: [after?.dueAt ?? '-infinity', after?.keyId ?? '', rowsMax],
  });
  return rows;
};

const retireOf = async (writes: InstallationWrites, customerId: number): Promise<void> => {
  const { rows } = await writes.pool.query<RetiredRow>({
    name: 'retired-keys-of-account',
    text: `select key_id as "keyId", announced, revoked_at is not null as revoked from api_keys
           where customer_id = $1 and ((${ended}) or (${unannounced}))`,
    values: [customerId],
  });
  if (rows.length > 0) await retire(writes, customerId, rows);
};

const retire = async (
  writes: InstallationWrites,
  customerId: number,
  rows: readonly RetiredRow[],
): Promise<void> => {
  const { pool, clock } = writes;
  const { state } = await loadAccount(writes, customerId);
  const counted = state.status === 'NONE' ? {} : state.keys;
  const isCounted = ({ keyId }: RetiredRow): boolean => counted[keyId] !== undefined;
  for (const { keyId } of rows.filter((row) => row.revoked && isCounted(row))) {
    const commandId = randomUUID();
    const context = { commandId, customerId, actor: ACTOR, requestId: commandId };
    await runOnAccount(writes, { type: 'RevokeApiKey', now: isoTimestamp(clock.now()), keyId }, context);
  }
  const announced = rows.filter((row) => !row.announced && isCounted(row)).map(({ keyId }) => keyId);
  if (announced.length > 0) {
    await pool.query(
      'update api_keys set announced = true where customer_id = $1 and key_id = any($2::text[])',
      [customerId, announced],
    );
  }
  // Checks the conditions again: a key may have been announced since it was found.
  await pool.query(
    `delete from api_keys where customer_id = $1 and key_id = any($2::text[]) and ((${ended}) or (${unannounced}))`,
    [customerId, rows.map(({ keyId }) => keyId)],
  );
};
