import { requestTables } from './tables.ts';

/** `secret_hash` is never read by requests: authentication comes first. @param role of requests */
export const requestRights = {
  readable: requestTables,
  updatable: { table: 'api_keys', column: 'announced' },
  grants: (role: string): string => `
    grant select on ${requestTables.join(', ')} to ${role};
    grant select (projection, stream, customer_id) on parked_streams to ${role};
    grant select (key_id, customer_id, user_id, name, masked_key, scopes, created_at, expires_at, last_used_at,
      revoked_at, sealed_secret, sealed_until, announced), insert,
      update (revoked_at, sealed_secret, sealed_until, announced), delete on api_keys to ${role};
    grant select (customer_id, session_id, user_id, method, auth_time, created_at, last_seen_at, ends_at,
      address_prefix, agent, ended_at) on sessions to ${role};
  `,
};
