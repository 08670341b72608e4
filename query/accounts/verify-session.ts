import type { Pool } from 'pg';
import { Role, scopesOfRole } from '../../domain/accounts/access.ts';
import { SESSION_IDLE_HOURS } from '../../domain/accounts/session.ts';
import type { Verification, VerifyCredential } from '../../shared/http/principal.ts';
import {
  holderColumns,
  isOfOpenAccount,
  refusedHolder,
  rejected,
  verifiedHolder,
  type StoredHolder,
} from './holder.ts';
import { findSecrets, parseSecrets } from './presented-secret.ts';

interface StoredSession extends StoredHolder {
  readonly sessionId: string;
  readonly hash: Buffer;
  readonly isOver: boolean;
  readonly askedAt: number;
  verified?: Verification;
}

/** 256 bits as base64url. */
const parse = parseSecrets(/^[A-Za-z0-9_-]{43}$/);

/**
 * Caches nothing between requests, like `verifyApiKey`: the end of a session, and disabling the account, hold on the
 * next request.
 * @param pool of the installation: before the session is verified, there is no account to bind to
 * @param used called for every verified session
 */
export const verifySession = (
  pool: Pick<Pool, 'query'>,
  used: (sessionId: string) => void,
): VerifyCredential => {
  const lookUp = findSecrets<StoredSession>(pool, sessionsBySecret);
  return async (secret, connection) => {
    const presented = parse(secret, connection);
    const stored = presented && (await lookUp(presented));
    if (stored === undefined) return rejected;
    const actor = `session:${stored.sessionId}`;
    if (stored.isOver || !isOfOpenAccount(stored) || stored.role === null)
      return refusedHolder(stored, actor);
    used(stored.sessionId);
    // All requests of one lookup have the same principal.
    stored.verified ??= verifiedHolder(stored, {
      kind: 'session',
      actor,
      scopes: scopesOfRole(Role.parse(stored.role)),
      credential: secret,
      askedAt: stored.askedAt,
    });
    return stored.verified;
  };
};

const sessionsBySecret = {
  name: 'sessions-by-secret',
  text: `select session_id as "sessionId", secret_hash as hash,
             ended_at is not null or ends_at <= clock_timestamp()
               or last_seen_at <= clock_timestamp() - interval '${SESSION_IDLE_HOURS} hours' as "isOver",
             ${holderColumns('s', 's.ends_at')}
           from sessions s
           where secret_hash = any($1::bytea[])`,
};
