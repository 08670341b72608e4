import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { SESSION_DAYS, sessionAggregate, type SessionRefusal } from '../../domain/accounts/session.ts';
import type { SignInMethod } from '../../domain/accounts/session-events.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { SESSION_COOKIE } from '../../shared/http/authenticate.ts';
import { AlreadyDoneError, notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';
import type { ReplyHeaders, RequestContext } from '../../shared/http/route.ts';
import type { UserKey } from './login-rows.ts';
import {
  addressPrefixOf,
  endReplacedSession,
  endsRecorded,
  endSurplusSessions,
  insertSession,
  replaceSecret,
  type EndedSession,
  type NewSessionRow,
} from './session-rows.ts';

export interface SessionWrites extends CommandStores {
  readonly pool: Pool;
  readonly clock: Clock;
}

const sessions = handlerFor(
  sessionAggregate,
  refusals<SessionRefusal>({ 'no-such-session': () => notFound('session') }),
);

const DAY_SECONDS = 86_400;

/** `__Host-`: the browser sends it to this host only, and over TLS only. */
const cookie = (secret: string, maxAgeSeconds: number): ReplyHeaders => ({
  'Set-Cookie': `${SESSION_COOKIE}=${secret}; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; Path=/; SameSite=Lax`,
});

export const clearedCookie = cookie('', 0);

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

const newSecret = (): { readonly secretHash: Buffer; readonly headers: ReplyHeaders } => {
  const secret = randomBytes(32).toString('base64url');
  return {
    secretHash: hashOf(secret),
    headers: cookie(secret, SESSION_DAYS * DAY_SECONDS),
  };
};

export interface SignedIn {
  readonly data: UserKey;
  readonly headers: ReplyHeaders;
}

/** The same for each run of the request: it starts one session. */
export const sessionIdOf = ({ commandId }: Pick<RequestContext, 'commandId'>): string =>
  derivedId(commandId, 'session');

/**
 * The event comes first: without its row, the session has no secret and cannot be used. A repeat of the request makes
 * the row, or gives the session a new secret, because the first one is stored as a hash only. The browser forgets the
 * session that it had before, so it ends.
 */
export const startSession = async (
  { store, pool, clock }: SessionWrites,
  { customerId, userId, passwordChangedAt }: UserKey & Pick<NewSessionRow, 'passwordChangedAt'>,
  method: SignInMethod,
  request: RequestContext,
): Promise<SignedIn> => {
  const sessionId = sessionIdOf(request);
  const { secretHash, headers } = newSecret();
  const principal = { customerId, actor: `session:${sessionId}` };
  const command = {
    type: 'StartSession',
    now: isoTimestamp(clock.now()),
    sessionId,
    userId,
    method,
  } as const;
  const { startedAt } = await sessions.create({ store }, sessionId, command, {
    ...request,
    commandId: derivedId(request.commandId, 'start-session'),
    principal,
  });
  const { address, agent, sessionSecret } = request.client;
  const row = { customerId, userId, sessionId, secretHash, method, startedAt, agent, passwordChangedAt };
  if (!(await insertSession(pool, { ...row, addressPrefix: addressPrefixOf(address) }))) {
    throw new AlreadyDoneError({
      code: 'CONFLICT',
      message: 'The password was changed, or the session ended, after this request began. Sign in again.',
    });
  }
  const ended = await endSurplusSessions(pool, { customerId, userId });
  await recordEnds({ store, pool }, ended, { actor: principal.actor, requestId: request.requestId });
  if (sessionSecret !== undefined) await endReplaced({ store, pool }, sessionSecret, sessionId, request);
  return { data: { customerId, userId }, headers };
};

/** It may be of another user or account. */
const endReplaced = async (
  writes: Pick<SessionWrites, 'store' | 'pool'>,
  secret: string,
  by: string,
  { requestId }: RequestContext,
): Promise<void> => {
  for (const ended of await endReplacedSession(writes.pool, hashOf(secret), by)) {
    await recordEnds(writes, [ended], { actor: `session:${ended.sessionId}`, requestId });
  }
};

/** A new secret for the session of the request, after a change of what it may prove. */
export const renewSession = async (pool: Pool, user: UserKey, sessionId: string): Promise<ReplyHeaders> => {
  const { secretHash, headers } = newSecret();
  return (await replaceSecret(pool, user, sessionId, secretHash)) ? headers : clearedCookie;
};

/**
 * The row comes first: an ended session is refused at once. After a crash in between, the sweep records the end.
 * Repeating it has no effect, because the command's id derives from the session.
 */
export const recordEnds = async (
  { store, pool }: Pick<SessionWrites, 'store' | 'pool'>,
  ended: readonly EndedSession[],
  { actor, requestId }: { readonly actor: string; readonly requestId: string },
): Promise<void> => {
  for (const { customerId, sessionId, reason, endedAt } of ended) {
    const commandId = derivedId(sessionId, 'end');
    sessions.resultOf(
      await sessions.execute(
        { store },
        sessionId,
        { type: 'EndSession', now: endedAt.toISOString(), reason },
        { context: { commandId, customerId, actor, requestId } },
      ),
    );
  }
  if (ended.length > 0) {
    await endsRecorded(
      pool,
      ended.map(({ sessionId }) => sessionId),
    );
  }
};
