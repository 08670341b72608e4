import type { Pool } from 'pg';
import type { FindInvitation, FoundInvitation } from '../../command/accounts/invitation-rows.ts';

/** @param pool not bound to an account */
export const findInvitation =
  (pool: Pick<Pool, 'query'>): FindInvitation =>
  async ({ customerId, invitationId }) => {
    const { rows } = await pool.query<FoundInvitation>({
      name: 'invitation-find',
      text: `select i.customer_id::float8 as "customerId", i.invitation_id as "invitationId", i.email, i.role,
               a.name as company, u.name as inviter, i.expires_at as "expiresAt"
             from invitations i
             join accounts a on a.customer_id = i.customer_id
             left join users u on u.customer_id = i.customer_id and u.user_id = i.invited_by
             where i.customer_id = $1 and i.invitation_id = $2`,
      values: [customerId, invitationId],
    });
    return rows[0];
  };
