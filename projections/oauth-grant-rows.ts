import type { ClientBase, Pool } from 'pg';
import type { Scope } from '../domain/accounts/access.ts';
import { GRANT_DAYS } from '../domain/accounts/oauth-grant.ts';

/** Written twice, like `account-rows.ts`: each statement may run late or twice. */

type Client = Pick<ClientBase, 'query'> | Pick<Pool, 'query'>;

export interface GrantRow {
  readonly customerId: number;
  readonly grantId: string;
  readonly userId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly clientHost?: string | undefined;
  readonly scopes: readonly Scope[];
  readonly resources: readonly string[];
  readonly authorizedAt: string;
}

export const writeGrants = async (client: Client, grants: readonly GrantRow[]): Promise<void> => {
  if (grants.length === 0) return;
  await client.query({
    name: 'oauth-grants-authorized',
    text: `insert into oauth_grants (customer_id, grant_id, user_id, client_id, client_name, client_host, scopes,
             resources, created_at, expires_at)
           select g."customerId", g."grantId", g."userId", g."clientId", g."clientName", g."clientHost", g.scopes,
             g.resources, g."authorizedAt", g."authorizedAt" + interval '${GRANT_DAYS} days'
           from json_to_recordset($1::json) as g("customerId" bigint, "grantId" text, "userId" text,
             "clientId" text, "clientName" text, "clientHost" text, scopes text[], resources text[],
             "authorizedAt" timestamptz)
           order by g."grantId"
           on conflict (grant_id) do nothing`,
    values: [JSON.stringify(grants)],
  });
};

export interface RevokedRow extends Pick<GrantRow, 'customerId' | 'grantId'> {
  readonly revokedAt: string;
}

export const writeRevoked = async (client: Client, revoked: readonly RevokedRow[]): Promise<void> => {
  if (revoked.length === 0) return;
  await client.query({
    name: 'oauth-grants-revoked',
    text: `update oauth_grants g set revoked_at = r."revokedAt"
           from (select * from json_to_recordset($1::json)
                   as r("customerId" bigint, "grantId" text, "revokedAt" timestamptz) order by "grantId") r
           where g.grant_id = r."grantId" and g.customer_id = r."customerId" and g.revoked_at is null`,
    values: [JSON.stringify(revoked)],
  });
};

export const oauthGrantRowsIn = (pool: Pool) => ({
  writeGrants: (grants: readonly GrantRow[]) => writeGrants(pool, grants),
  writeRevoked: (revoked: readonly RevokedRow[]) => writeRevoked(pool, revoked),
});
