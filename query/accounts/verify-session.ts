import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { Role, scopesOfRole } from '../../domain/accounts/access.ts';
import { SESSION_IDLE_HOURS } from '../../domain/accounts/session.ts';
import { coalesce } from '../../shared/async/coalesce.ts';
import { byteaArray } from '../../shared/postgres/binary-array.ts';
import type { Verification, VerifyCredential } from '../../shared/http/principal.ts';
import {
  holderColumns,
  isOfOpenAccount,
  refusedHolder,
  rejected,
  rememberLast,
  verifiedHolder,
  type StoredHolder,
} from './holder.ts';

interface StoredSession extends StoredHolder {
  readonly sessionId: string;
  readonly secretHash: Buffer;
  readonly isOver: boolean;
  readonly askedAt: number;
  verified?: Verification;
}

interface PresentedSecret {
  readonly hash: Buffer;
  readonly hex: string;
}

/** 256 bits as base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;

const parseSecret = (secret: string): PresentedSecret | undefined => {
  if (!SECRET.test(secret)) return undefined;
  const hash = createHash('sha256').update(secret).digest();
  return { hash, hex: hash.toString('hex') };
};

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
  const lookUp = coalesce((secrets: readonly PresentedSecret[]) => storedSessions(pool, secrets), {
    batchMax: 200,
    inFlightMax: 2,
    waitMsMax: 20,
  });
  const parse = rememberLast(parseSecret);
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

const storedSessions = async (
  pool: Pick<Pool, 'query'>,
  secrets: readonly PresentedSecret[],
): Promise<readonly (StoredSession | undefined)[]> => {
  const askedAt = performance.now();
  const hashes = new Map(secrets.map(({ hex, hash }) => [hex, hash]));
  const { rows } = await pool.query<Omit<StoredSession, 'askedAt'>>({
    name: 'sessions-by-secret',
    text: `select session_id as "sessionId", secret_hash as "secretHash",
             ended_at is not null or ends_at <= clock_timestamp()
               or last_seen_at <= clock_timestamp() - interval '${SESSION_IDLE_HOURS} hours' as "isOver",
             ${holderColumns('s')}
           from sessions s
           where secret_hash = any($1::bytea[])`,
    values: [byteaArray([...hashes.values()])],
  });
  const byHash = new Map(
    rows.map((row): [string, StoredSession] => [row.secretHash.toString('hex'), { ...row, askedAt }]),
  );
  return secrets.map(({ hex }) => byHash.get(hex));
};
