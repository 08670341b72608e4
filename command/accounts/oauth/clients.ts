import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { AdapterPayload } from 'oidc-provider';
import type { Purgeable } from '../../../shared/async/purge-regularly.ts';
import type { ClientMetadata } from './client-policy.ts';

type Database = Pick<Pool, 'query'>;

export type RegisteredBy = 'self' | 'operator';

export interface RegisteredClient {
  readonly clientId: string;
  readonly metadata: AdapterPayload;
  readonly registeredBy: RegisteredBy;
  readonly registeredAt: string;
}

/** A client that registered itself and has no live grant is deleted after this time, in days. */
const UNUSED_DAYS = 30;

const columns = `client_id as "clientId", metadata, registered_by as "registeredBy",
  to_char(registered_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "registeredAt"`;

export const writeClient = async (
  pool: Database,
  clientId: string,
  metadata: AdapterPayload,
  registeredBy: RegisteredBy,
): Promise<void> => {
  await pool.query({
    name: 'oauth-client-write',
    text: `insert into oauth_clients (client_id, metadata, registered_by) values ($1, $2, $3)
           on conflict (client_id) do update set metadata = excluded.metadata`,
    values: [clientId, JSON.stringify(metadata), registeredBy],
  });
};

export const findClient = async (pool: Database, clientId: string): Promise<RegisteredClient | undefined> => {
  const { rows } = await pool.query<RegisteredClient>({
    name: 'oauth-client-find',
    text: `select ${columns} from oauth_clients where client_id = $1`,
    values: [clientId],
  });
  return rows[0];
};

/** For a client that can neither register nor publish a metadata document. @returns its id */
export const addClientOfOperator = async (pool: Database, metadata: ClientMetadata): Promise<string> => {
  const clientId = randomUUID();
  await writeClient(pool, clientId, { ...metadata, client_id: clientId }, 'operator');
  return clientId;
};

export async function* clientsOfOperator(pool: Database): AsyncGenerator<RegisteredClient> {
  const { rows } = await pool.query<RegisteredClient>(
    `select ${columns} from oauth_clients where registered_by = 'operator' order by registered_at`,
  );
  yield* rows;
}

/** @returns false if no such client is registered, for example because it publishes a metadata document */
export const removeClient = async (pool: Database, clientId: string): Promise<boolean> => {
  const { rowCount } = await pool.query('delete from oauth_clients where client_id = $1', [clientId]);
  return rowCount === 1;
};

/** A deleted client gets 401 `invalid_client`, at which clients register again. */
export const unusedClients = (pool: Database): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'purge-oauth-clients',
      text: `delete from oauth_clients where client_id = any(array(
               select client_id from oauth_clients c
               where registered_by = 'self' and registered_at < clock_timestamp() - interval '${UNUSED_DAYS} days'
                 and not exists (select from oauth_grants g where g.client_id = c.client_id
                   and g.revoked_at is null and g.expires_at > clock_timestamp())
               order by registered_at limit $1 for update skip locked))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});
