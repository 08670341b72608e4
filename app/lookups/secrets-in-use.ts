import type { Pool } from 'pg';
import { MAIL } from '../../command/workers/mail/request-mail.ts';
import { INSTALLATION } from '../../domain/sellers/seller-directory.ts';
import type { StoredSecret } from '../../shared/secrets/stored-secrets.ts';
import { int8Array, uuidArray } from '../../shared/postgres/binary-array.ts';

/** Whether an agent, a seller, an engine connection, a webhook, a second factor or a mail to be sent refers to each secret. @param pool not bound to an account */
export const findSecretsInUse =
  (pool: Pick<Pool, 'query'>) =>
  async (secrets: readonly StoredSecret[]): Promise<readonly boolean[]> => {
    const { rows } = await pool.query<{ isInUse: boolean }>({
      name: 'secrets-in-use',
      text: `select exists (
               select from adcp_agents a
               where a.customer_id = s.customer_id and a.id = s.owner_id
                 and a.status = 'ACTIVE' and (a.body::jsonb)->>'secretId' = s.id::text)
             or exists (
               select from engine_connections c
               where c.customer_id = s.customer_id and c.id = s.owner_id
                 and c.status = 'connected' and c.secret_id = s.id)
             or exists (
               select from webhook_endpoints e
               where e.customer_id = s.customer_id and e.subscription_id = s.owner_id and e.status <> 'deleted'
                 and (e.secret_id = s.id or e.previous_secret_id = s.id and e.previous_until > now()))
             or exists (
               select from sellers d
               where s.customer_id = $5 and (d.body::jsonb)->'agent'->>'secretId' = s.id::text)
             or exists (
               select from logins l
               where l.customer_id = s.customer_id and s.id in (l.totp_secret_id, l.totp_pending_id))
             or exists (
               select from work_list w
               where w.kind = $4 and w.customer_id = s.customer_id and w.key = s.id
                 and w.due_at < 'infinity') as "isInUse"
             from unnest($1::bigint[], $2::uuid[], $3::uuid[])
               with ordinality as s (customer_id, id, owner_id, n) order by s.n`,
      values: [
        int8Array(secrets.map(({ customerId }) => customerId)),
        uuidArray(secrets.map(({ id }) => id)),
        uuidArray(secrets.map(({ ownerId }) => ownerId)),
        MAIL,
        INSTALLATION,
      ],
    });
    return rows.map(({ isInUse }) => isInUse);
  };
