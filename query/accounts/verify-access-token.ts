import type { Pool } from 'pg';
import type { Scope, Verification, VerifyAccessToken } from '../../shared/http/principal.ts';
import {
  holderColumns,
  isOfOpenAccount,
  refusedHolder,
  rejected,
  verifiedHolder,
  type StoredHolder,
} from './holder.ts';
import { findSecrets, parseSecrets } from './presented-secret.ts';

interface StoredToken extends StoredHolder {
  readonly hash: Buffer;
  readonly grantId: string;
  readonly scope: string;
  /** Address of the resource, or of the service: good for all its resources. */
  readonly audience: string;
  readonly isRevoked: boolean;
  readonly hasExpired: boolean;
  readonly askedAt: number;
  verified?: Verification;
}

const parse = parseSecrets(/^at_/);

/** Hexadecimal digits of the token's hash in what the limit counts. */
const SUBJECT_DIGITS = 16;

/**
 * Caches nothing between requests, like `verifyApiKey`: revoking the grant, removing the user or disabling the
 * account holds on the next request. A token of another resource is refused like an unknown one (RFC 8707).
 * @param pool of the installation: before the token is verified, there is no account to bind to
 * @param used called with the grant of every verified token
 */
export const verifyAccessToken = (
  pool: Pick<Pool, 'query'>,
  baseUrl: () => string,
  used: (grantId: string) => void = () => undefined,
): VerifyAccessToken => {
  const lookUp = findSecrets<StoredToken>(pool, tokensByHash);
  return async (token, connection, resource) => {
    const presented = parse(token, connection);
    const stored = presented && (await lookUp(presented));
    if (presented === undefined || stored === undefined) return rejected;
    const actor = `oauth:${stored.grantId}`;
    const isForResource = [baseUrl(), `${baseUrl()}${resource}`].includes(stored.audience);
    if (stored.isRevoked || !isForResource) return refusedHolder(stored, actor);
    if (stored.hasExpired) return { outcome: 'expired' };
    if (!isOfOpenAccount(stored)) return refusedHolder(stored, actor);
    used(stored.grantId);
    // All requests of one lookup have the same principal.
    stored.verified ??= verifiedHolder(stored, {
      kind: 'access-token',
      actor,
      subject: `access-token:${presented.hex.slice(0, SUBJECT_DIGITS)}`,
      scopes: stored.scope.split(' ') as Scope[],
      credential: token,
      askedAt: stored.askedAt,
    });
    return stored.verified;
  };
};

const tokensByHash = {
  name: 'access-tokens-by-hash',
  text: `select t.id_hash as hash, g.grant_id as "grantId", t.payload->>'scope' as scope,
             t.payload->>'aud' as audience, g.revoked_at is not null as "isRevoked",
             t.expires_at <= clock_timestamp() as "hasExpired", ${holderColumns('g', 't.expires_at')}
           from oauth_records t join oauth_grants g on g.grant_id = t.grant_id
           where t.kind = 'AccessToken' and t.id_hash = any($1::bytea[])`,
};
