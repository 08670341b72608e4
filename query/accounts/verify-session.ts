import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { Role, scopesOfRole } from '../../domain/accounts/access.ts';
import { SESSION_IDLE_HOURS } from '../../domain/accounts/session.ts';
import { coalesce } from '../../shared/async/coalesce.ts';
import type { VerifyCredential } from '../../shared/http/principal.ts';
import { holderColumns, isOpenSql, verifyStored, type StoredCredential } from './verify-stored.ts';

/** 256 bits as base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** @param pool of the installation: before the session is verified, there is no account to bind to */
export const verifySession = (
  pool: Pick<Pool, 'query'>,
  used: (sessionId: string) => void,
): VerifyCredential => {
  const lookUp = coalesce((hashes: readonly Buffer[]) => storedSessions(pool, hashes), {
    batchMax: 200,
    inFlightMax: 2,
    waitMsMax: 20,
  });
  return verifyStored({
    kind: 'session',
    parse: (secret) =>
      SECRET.test(secret) ? { secretHash: createHash('sha256').update(secret).digest() } : undefined,
    lookUp: ({ secretHash }) => lookUp(secretHash),
    scopesOf: (_stored, role) => scopesOfRole(Role.parse(role)),
    used,
  });
};

const storedSessions = async (
  pool: Pick<Pool, 'query'>,
  hashes: readonly Buffer[],
): Promise<readonly (StoredCredential | undefined)[]> => {
  const askedAt = performance.now();
  const { rows } = await pool.query<Omit<StoredCredential, 'askedAt'>>({
    name: 'sessions-by-secret',
    text: `select session_id as id, secret_hash as "secretHash", ${holderColumns('s')},
             coalesce(${isOpenSql('s')}, false) as "isLive",
             ended_at is not null or ends_at <= clock_timestamp()
               or last_seen_at <= clock_timestamp() - interval '${SESSION_IDLE_HOURS} hours' as "isOver"
           from sessions s
           where secret_hash = any($1::bytea[])`,
    values: [hashes],
  });
  const byHash = new Map(
    rows.map((row): [string, StoredCredential] => [row.secretHash.toString('base64'), { ...row, askedAt }]),
  );
  return hashes.map((hash) => byHash.get(hash.toString('base64')));
};
