import { accountStream, ENDED_KEYS_DAYS } from '../../domain/accounts/account.ts';
import { isoTimestamp } from '../../shared/clock.ts';
import { loadState } from '../../shared/command/execute-command.ts';
import { REPLAY_HOURS } from '../../shared/idempotency/replay-window.ts';
import { randomId } from '../../shared/ids.ts';
import type { Purgeable } from '../../shared/purge-regularly.ts';
import { accountAggregate, runOnAccount, type InstallationWrites } from './account-writes.ts';

/** As long as an abandoned idempotency key is kept: until then a repeat may finish what was begun. */
const UNANNOUNCED_HOURS = 2 * REPLAY_HOURS;

interface RetiredRow {
  readonly keyId: string;
  readonly customerId: number;
  readonly announced: boolean;
  readonly revoked: boolean;
}

const ACTOR = 'worker:retire-keys';
const ended = `least(revoked_at, expires_at) <= now() - interval '${ENDED_KEYS_DAYS} days'
  and (revoked_at is not null or expires_at is not null)`;
const unannounced = `created_at <= now() - interval '${UNANNOUNCED_HOURS} hours' and not announced`;

/**
 * Rows of keys that are over: of keys that ended 90 days ago, and of keys whose issue was cut off before its event
 * and not repeated in two days, with the account if it was cut off while being opened. The stream has the last
 * word: a key that it has announced becomes live instead; one that it still counts, although its row is revoked,
 * is revoked there too, or it would count for ever.
 */
export const createRetiredKeys = (writes: InstallationWrites): Purgeable => ({
  purge: async (rowsMax) => {
    const rows = await findRows(writes, rowsMax);
    const customerIds = [...new Set(rows.map(({ customerId }) => customerId))];
    for (const customerId of customerIds) {
      await retire(
        writes,
        customerId,
        rows.filter((row) => row.customerId === customerId),
      );
    }
    return rows.length;
  },
});

/** Two questions, each of an index of its own. */
const findRows = async ({ pool }: InstallationWrites, rowsMax: number): Promise<readonly RetiredRow[]> => {
  const columns = `key_id as "keyId", customer_id::int as "customerId", announced, revoked_at is not null as revoked`;
  const found = await pool.query<RetiredRow>(
    `select ${columns} from api_keys where ${unannounced} order by created_at limit $1`,
    [rowsMax],
  );
  const { rows } = await pool.query<RetiredRow>(
    `select ${columns} from api_keys where ${ended} and announced order by least(revoked_at, expires_at) limit $1`,
    [rowsMax - found.rows.length],
  );
  return [...found.rows, ...rows];
};

const retire = async (
  { store, pool, clock }: InstallationWrites,
  customerId: number,
  rows: readonly RetiredRow[],
): Promise<void> => {
  const state = await loadState(store, accountAggregate, accountStream(customerId));
  const counted = state.status === 'NONE' ? {} : state.keys;
  const isCounted = ({ keyId }: RetiredRow): boolean => counted[keyId] !== undefined;
  for (const { keyId } of rows.filter((row) => row.revoked && isCounted(row))) {
    const commandId = randomId();
    const context = { commandId, customerId, actor: ACTOR, requestId: commandId };
    await runOnAccount(store, { type: 'RevokeApiKey', now: isoTimestamp(clock.now()), keyId }, context);
  }
  const announced = rows.filter((row) => !row.announced && isCounted(row)).map(({ keyId }) => keyId);
  if (announced.length > 0) {
    await pool.query(
      'update api_keys set announced = true where customer_id = $1 and key_id = any($2::text[])',
      [customerId, announced],
    );
  }
  // Judged again: one may have been announced since it was found.
  await pool.query(
    `delete from api_keys where customer_id = $1 and key_id = any($2::text[]) and ((${ended}) or (${unannounced}))`,
    [customerId, rows.map(({ keyId }) => keyId)],
  );
  if (state.status === 'NONE') await forgetUnopened(pool, customerId);
};

const forgetUnopened = (pool: InstallationWrites['pool'], customerId: number) =>
  pool.query(
    `with account as (delete from accounts where customer_id = $1 and access_revision < 0 returning customer_id)
     delete from users u using account a where u.customer_id = a.customer_id`,
    [customerId],
  );
