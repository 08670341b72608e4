import { SESSION_DAYS, SESSION_IDLE_HOURS, SESSIONS_MAX } from '../../domain/accounts/session.ts';
import type { SessionEndReason, SignInMethod } from '../../domain/accounts/session-events.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';
import type { Database, UserKey } from './login-rows.ts';

/** No event contains a secret: a session is checked against its row. */

export interface NewSessionRow extends UserKey {
  readonly sessionId: string;
  readonly secretHash: Buffer;
  readonly method: SignInMethod;
  readonly startedAt: string;
  readonly addressPrefix: string;
  readonly agent: string | undefined;
  /** The password that was checked is still the user's. */
  readonly passwordChangedAt?: string | undefined;
}

/**
 * A repeat gets a new secret, because the first one is not stored. The lock lets a change of the password wait, which
 * then ends this session, too. @returns false if the session has ended, or the password was changed
 */
export const insertSession = async (database: Database, row: NewSessionRow): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'session-insert',
    text: `with login as (
             select from logins
             where customer_id = $1 and user_id = $2 and password_changed_at = $9::text::timestamptz for share)
           insert into sessions as s (customer_id, user_id, session_id, secret_hash, method, auth_time, created_at,
             last_seen_at, ends_at, address_prefix, agent)
           select $1, $2, $3, $4, $5, $6::timestamptz, $6::timestamptz, $6::timestamptz,
             $6::timestamptz + interval '${SESSION_DAYS} days', $7, $8
           where $9::text is null or exists (select from login)
           on conflict (session_id) do update set secret_hash = excluded.secret_hash
             where s.ended_at is null and s.customer_id = $1 and s.user_id = $2`,
    values: [
      row.customerId,
      row.userId,
      row.sessionId,
      row.secretHash,
      row.method,
      row.startedAt,
      row.addressPrefix,
      row.agent ?? null,
      row.passwordChangedAt ?? null,
    ],
  });
  return rowCount === 1;
};

export const methodOfSession = async (
  database: Database,
  { customerId, userId }: UserKey,
  sessionId: string,
): Promise<SignInMethod | undefined> => {
  const { rows } = await database.query<{ method: SignInMethod }>({
    name: 'session-method',
    text: `select method from sessions where session_id = $3 and customer_id = $1 and user_id = $2`,
    values: [customerId, userId, sessionId],
  });
  return rows[0]?.method;
};

/** @returns false if the session has ended */
export const replaceSecret = async (
  database: Database,
  { customerId, userId }: UserKey,
  sessionId: string,
  secretHash: Buffer,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'session-replace-secret',
    text: `update sessions set secret_hash = $4
           where session_id = $3 and customer_id = $1 and user_id = $2 and ended_at is null`,
    values: [customerId, userId, sessionId, secretHash],
  });
  return rowCount === 1;
};

export interface EndedSession {
  readonly customerId: number;
  readonly sessionId: string;
  readonly reason: SessionEndReason;
  readonly endedAt: Date;
}

const live = `ended_at is null and ends_at > clock_timestamp()`;
const set = (reason: string): string =>
  `ended_at = clock_timestamp(), ends_at = clock_timestamp(), end_reason = ${reason}`;
const returning = `returning customer_id::float8 as "customerId", session_id as "sessionId",
  end_reason as reason, ended_at as "endedAt"`;

/** From the next request on, the sessions are refused on every node. */
export const endSession = async (
  database: Database,
  { customerId, userId }: UserKey,
  sessionId: string,
  reason: SessionEndReason,
): Promise<readonly EndedSession[]> => {
  const { rows } = await database.query<EndedSession>({
    name: 'session-end',
    text: `update sessions set ${set('$4')}
           where session_id = $3 and customer_id = $1 and user_id = $2 and ${live} ${returning}`,
    values: [customerId, userId, sessionId, reason],
  });
  return rows;
};

/** That of any user. @param by the session that replaces it */
export const endReplacedSession = async (
  database: Database,
  secretHash: Buffer,
  by: string,
): Promise<readonly EndedSession[]> => {
  const { rows } = await database.query<EndedSession>({
    name: 'session-end-replaced',
    text: `update sessions set ${set(`'replaced'`)}
           where secret_hash = $1 and session_id <> $2 and ${live} ${returning}`,
    values: [secretHash, by],
  });
  return rows;
};

/** @param except the session that stays */
export const endSessionsOfUser = async (
  database: Database,
  { customerId, userId }: UserKey,
  reason: SessionEndReason,
  except?: string,
): Promise<readonly EndedSession[]> => {
  const { rows } = await database.query<EndedSession>({
    name: 'sessions-end-of-user',
    text: `update sessions set ${set('$3')}
           where customer_id = $1 and user_id = $2 and session_id is distinct from $4 and ${live} ${returning}`,
    values: [customerId, userId, reason, except ?? null],
  });
  return rows;
};

/** Ends the oldest sessions above the limit. */
export const endSurplusSessions = async (
  database: Database,
  { customerId, userId }: UserKey,
): Promise<readonly EndedSession[]> => {
  const { rows } = await database.query<EndedSession>({
    name: 'sessions-end-surplus',
    text: `update sessions set ${set(`'too-many'`)}
           where ${live} and session_id = any(array(
             select session_id from sessions
             where customer_id = $1 and user_id = $2 and ${live}
               and last_seen_at > clock_timestamp() - interval '${SESSION_IDLE_HOURS} hours'
             order by created_at desc, session_id desc offset ${SESSIONS_MAX})) ${returning}`,
    values: [customerId, userId],
  });
  return rows;
};

export const endsRecorded = async (database: Database, sessionIds: readonly string[]): Promise<void> => {
  await database.query({
    name: 'session-ends-recorded',
    text: `update sessions set end_recorded = true where session_id = any($1::text[])`,
    values: [textArray(sessionIds)],
  });
};

export interface UnrecordedEnd extends EndedSession {
  /** Text keeps the microseconds. */
  readonly dueAt: string;
}

/** Left by a process that ended in between, or by a disabled account. */
export const unrecordedEnds = async (
  database: Database,
  after: UnrecordedEnd | undefined,
  rowsMax: number,
): Promise<readonly UnrecordedEnd[]> => {
  const { rows } = await database.query<UnrecordedEnd>({
    name: 'session-ends-unrecorded',
    text: `select customer_id::float8 as "customerId", session_id as "sessionId", end_reason as reason,
             ended_at as "endedAt", ended_at::text as "dueAt"
           from sessions
           where ended_at is not null and not end_recorded and ended_at < clock_timestamp() - interval '10 seconds'
             and (ended_at, session_id) > ($1::timestamptz, $2)
           order by ended_at, session_id limit $3`,
    values: [after?.dueAt ?? '-infinity', after?.sessionId ?? '', rowsMax],
  });
  return rows;
};

/** The network tells the user enough, and others less than the address. @param address as `Client` has it */
export const addressPrefixOf = (address: string): string =>
  /^\d+\.\d+\.\d+\.\d+$/.test(address) ? address.replace(/\d+$/, '0/24') : address;
