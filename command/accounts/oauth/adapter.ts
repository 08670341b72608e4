import type { Pool } from 'pg';
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';
import { findClient, writeClient } from './clients.ts';
import type { OAuthRecords } from './records.ts';

export interface AdapterOptions {
  readonly pool: Pick<Pool, 'query'>;
  readonly records: OAuthRecords;
  readonly issuer: string;
  /** Ends the grant because the current request says so, or shows that a code or token was used again. */
  readonly endGrant: (grantId: string) => Promise<void>;
  readonly refuseGrant: (message: string) => Error;
}

/** The storage of `oidc-provider`. Its models ask only what is implemented here. */
export const createAdapter = (options: AdapterOptions): AdapterFactory => {
  const { pool, records } = options;
  return (kind) => {
    switch (kind) {
      case 'Client':
        return clientAdapter(pool);
      case 'Grant':
        return grantAdapter(options);
      case 'Session':
        // Each authorization asks our own session, so that no second sign-in outlives it.
        return { ...unsupported, upsert: nothing, find: nothing, destroy: nothing };
      case 'AuthorizationCode':
      case 'RefreshToken':
        return { ...recordAdapter(kind, records), consume: (id) => consumeOnce(kind, id, options) };
      case 'Interaction':
        return interactionAdapter(options);
      default:
        return recordAdapter(kind, records);
    }
  };
};

const nothing = async (): Promise<undefined> => undefined;

const notSupported = async (): Promise<never> => {
  throw new Error('oidc-provider asked for something that this service does not use');
};

const unsupported: Adapter = {
  upsert: notSupported,
  find: notSupported,
  findByUserCode: notSupported,
  findByUid: notSupported,
  consume: notSupported,
  destroy: notSupported,
  revokeByGrantId: notSupported,
};

const clientAdapter = (pool: Pick<Pool, 'query'>): Adapter => ({
  ...unsupported,
  upsert: (clientId, metadata) => writeClient(pool, clientId, metadata, 'self'),
  find: async (clientId) => (await findClient(pool, clientId))?.metadata,
});

const recordAdapter = (kind: string, records: OAuthRecords): Adapter => ({
  ...unsupported,
  upsert: (id, payload, ttlSeconds = 0) => records.write(kind, id, payload, ttlSeconds),
  find: (id) => records.find(kind, id),
  destroy: (id) => records.remove(kind, id),
  // Tokens of a grant that has ended are refused, and deleted when they expire.
  revokeByGrantId: nothing,
});

/** The address to return to contains the interaction's id, which is a secret. */
const interactionAdapter = ({ records, issuer }: AdapterOptions): Adapter => {
  const adapter = recordAdapter('Interaction', records);
  return {
    ...adapter,
    upsert: (uid, given, ttlSeconds) => {
      const { returnTo: _, ...payload } = given;
      return adapter.upsert(uid, payload, ttlSeconds);
    },
    find: async (uid) => {
      const payload = await records.find('Interaction', uid);
      return payload && { ...payload, returnTo: `${issuer}/authorize/${uid}` };
    },
  };
};

/**
 * The library finds a code, then consumes it: fifty requests find it before one of them consumes it. Those that
 * come too late end the grant like any second use of a code (RFC 6749, 4.1.2).
 */
const consumeOnce = async (
  kind: string,
  id: string,
  { records, endGrant, refuseGrant }: AdapterOptions,
): Promise<void> => {
  if (await records.consume(kind, id)) return;
  const grantId = (await records.find(kind, id))?.grantId;
  if (kind === 'AuthorizationCode' && grantId !== undefined) await endGrant(grantId);
  throw refuseGrant(
    kind === 'AuthorizationCode' ? 'authorization code already consumed' : 'refresh token already used',
  );
};

interface GrantPayload {
  readonly userId: string;
  readonly clientId: string;
  readonly scopes: string;
  readonly resources: readonly string[];
  readonly iat: number;
  readonly exp: number;
}

/** Consent writes the rows (`grants.ts`), the library only reads and ends them. */
const grantAdapter = ({ pool, endGrant }: AdapterOptions): Adapter => ({
  ...unsupported,
  find: async (grantId) => {
    const { rows } = await pool.query<GrantPayload>({
      name: 'oauth-grant-find',
      text: `select user_id as "userId", client_id as "clientId", array_to_string(scopes, ' ') as scopes, resources,
               floor(extract(epoch from created_at))::float8 as iat, floor(extract(epoch from expires_at))::float8 as exp
             from oauth_grants where grant_id = $1 and revoked_at is null`,
      values: [grantId],
    });
    return rows[0] && payloadOf(grantId, rows[0]);
  },
  destroy: endGrant,
});

const payloadOf = (
  grantId: string,
  { userId, clientId, scopes, resources, iat, exp }: GrantPayload,
): AdapterPayload => ({
  jti: grantId,
  kind: 'Grant',
  accountId: userId,
  clientId,
  iat,
  exp,
  openid: { scope: 'offline_access' },
  resources: Object.fromEntries(resources.map((resource) => [resource, scopes])),
});
