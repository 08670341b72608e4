import type { Role } from '../../domain/accounts/access.ts';
import type { InvitationResource } from '../../domain/accounts/resource.ts';
import type { Database } from './login-rows.ts';

/** The only place of the address of an invitation: it is deleted when the invitation ends. */

export interface Invitation {
  readonly customerId: number;
  readonly invitationId: string;
  readonly email: string;
  readonly role: Role;
  /** Undefined: the operator. */
  readonly invitedBy?: string | undefined;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export const invitationResource = ({
  invitationId: id,
  email,
  role,
  expiresAt,
  createdAt,
}: Invitation): InvitationResource => ({ id, email, role, status: 'OPEN', expiresAt, createdAt });

/** Does nothing when an earlier run of the command has written the row. */
export const insertInvitation = async (database: Database, invitation: Invitation): Promise<void> => {
  const { customerId, invitationId, email, role, invitedBy, createdAt, expiresAt } = invitation;
  await database.query({
    name: 'invitation-insert',
    text: `insert into invitations (customer_id, invitation_id, email, role, invited_by, created_at, expires_at)
           values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    values: [customerId, invitationId, email, role, invitedBy ?? null, createdAt, expiresAt],
  });
};

export interface InvitationKey {
  readonly customerId: number;
  readonly invitationId: string;
}

export interface FoundInvitation extends InvitationKey {
  readonly email: string;
  readonly role: Role;
  readonly company: string;
  readonly inviter: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** Also an unannounced one. Undefined after its end. */
export const findInvitation = async (
  database: Database,
  { customerId, invitationId }: InvitationKey,
): Promise<FoundInvitation | undefined> => {
  const { rows } = await database.query<FoundInvitation>({
    name: 'invitation-find',
    text: `select i.customer_id::float8 as "customerId", i.invitation_id as "invitationId", i.email, i.role,
             a.name as company, u.name as inviter, i.created_at as "createdAt", i.expires_at as "expiresAt"
           from invitations i
           join accounts a on a.customer_id = i.customer_id
           left join users u on u.customer_id = i.customer_id and u.user_id = i.invited_by
           where i.customer_id = $1 and i.invitation_id = $2`,
    values: [customerId, invitationId],
  });
  return rows[0];
};

/** After its event. @returns false if it was announced before, or has ended */
export const announceInvitation = async (
  database: Database,
  { customerId, invitationId }: InvitationKey,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'invitation-announce',
    text: `update invitations set announced = true
           where customer_id = $1 and invitation_id = $2 and not announced`,
    values: [customerId, invitationId],
  });
  return rowCount === 1;
};

/** With its link. @returns false if there is none */
export const deleteInvitation = async (
  database: Database,
  { customerId, invitationId }: InvitationKey,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'invitation-delete',
    text: `with links as (
             delete from one_time_links
             where customer_id = $1 and purpose = 'invitation' and subject = $2 and used_at is null)
           delete from invitations where customer_id = $1 and invitation_id = $2`,
    values: [customerId, invitationId],
  });
  return rowCount === 1;
};

export interface UnannouncedInvitation extends InvitationKey {
  readonly createdAt: string;
  /** No repeat of its command can come any more. */
  readonly isOld: boolean;
}

const UNANNOUNCED_MINUTES = 5;
/** Abandoned idempotency keys are kept this long. */
const ABANDONED_HOURS = 48;

export const unannouncedInvitations = async (
  database: Database,
  after: UnannouncedInvitation | undefined,
  rowsMax: number,
): Promise<readonly UnannouncedInvitation[]> => {
  const { rows } = await database.query<UnannouncedInvitation>({
    name: 'invitations-unannounced',
    text: `select customer_id::float8 as "customerId", invitation_id as "invitationId",
             created_at::text as "createdAt",
             created_at < clock_timestamp() - interval '${ABANDONED_HOURS} hours' as "isOld"
           from invitations
           where not announced and created_at < clock_timestamp() - interval '${UNANNOUNCED_MINUTES} minutes'
             and (created_at, invitation_id) > ($1::timestamptz, $2)
           order by created_at, invitation_id limit $3`,
    values: [after?.createdAt ?? '-infinity', after?.invitationId ?? '', rowsMax],
  });
  return rows;
};

/** @returns true for a user of this account */
export const isMembersAddress = async (
  database: Database,
  customerId: number,
  emailKey: string,
): Promise<boolean> => {
  const { rows } = await database.query({
    name: 'address-of-member',
    text: 'select from user_addresses where customer_id = $1 and email_key = $2',
    values: [customerId, emailKey],
  });
  return rows.length > 0;
};

/** @returns true for a user of any account */
export const isTaken = async (database: Database, emailKey: string): Promise<boolean> => {
  const { rows } = await database.query({
    name: 'address-taken',
    text: 'select from user_addresses where email_key = $1',
    values: [emailKey],
  });
  return rows.length > 0;
};
