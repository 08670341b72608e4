import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../shared/event-store/event-store.ts';
import { invalid, type ApiError } from '../../shared/http/errors.ts';
import { hashOfToken } from '../workers/mail/link-token.ts';
import type { Database, UserKey } from './login-rows.ts';

export type LinkPurpose = 'set-up' | 'password-reset' | 'reset-ticket' | 'sign-up' | 'invitation';

export interface NewLink {
  readonly purpose: LinkPurpose;
  /** 0: the account does not exist yet. */
  readonly customerId: number;
  readonly userId?: string;
  readonly subject?: string;
  readonly data?: JsonObject;
  readonly validMs: number;
}

export interface OneTimeLink {
  readonly customerId: number;
  readonly userId: string | null;
  readonly subject: string | null;
  readonly data: JsonObject;
  readonly expiresAt: Date;
  readonly usedBy: string | null;
}

/** For a link that is handed over by hand. */
export const newLinkToken = (): string => randomBytes(32).toString('base64url');

/**
 * Does nothing if the token has a link already.
 * @returns undefined if it was used or has expired
 */
export const insertLink = async (
  database: Database,
  token: string,
  { purpose, customerId, userId, subject, data = {}, validMs }: NewLink,
): Promise<{ readonly expiresAt: Date } | undefined> => {
  const { rows } = await database.query<{ expiresAt: Date }>({
    name: 'link-insert',
    text: `with added as (
             insert into one_time_links (token_hash, purpose, customer_id, user_id, subject, data, expires_at)
             values ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7 * interval '1 ms')
             on conflict do nothing returning expires_at
           )
           select expires_at as "expiresAt" from added
           union all
           select expires_at from one_time_links
           where token_hash = $1 and used_at is null and expires_at > clock_timestamp()`,
    values: [hashOfToken(token), purpose, customerId, userId ?? null, subject ?? null, data, validMs],
  });
  return rows[0];
};

export const deleteLinks = async (
  database: Database,
  { customerId, userId }: UserKey,
  purpose: LinkPurpose,
): Promise<void> => {
  await database.query({
    name: 'links-delete',
    text: 'delete from one_time_links where customer_id = $1 and user_id = $2 and purpose = $3',
    values: [customerId, userId, purpose],
  });
};

const condition = `token_hash = $1 and purpose = $2
  and ((used_at is null and expires_at > clock_timestamp()) or used_by = $3)`;

const columns = `customer_id::float8 as "customerId", user_id as "userId", subject, data,
  expires_at as "expiresAt", used_by as "usedBy"`;

/** @param commandId finds the link that this command has used, too @throws ApiError VALIDATION_ERROR */
export const findLink = async (
  database: Database,
  purpose: LinkPurpose,
  token: string,
  commandId: string,
  field = 'token',
): Promise<OneTimeLink> => {
  const { rows } = await database.query<OneTimeLink>({
    name: 'link-find',
    text: `select ${columns} from one_time_links where ${condition}`,
    values: [hashOfToken(token), purpose, commandId],
  });
  const [link] = rows;
  if (link === undefined) throw unusableLink(field);
  return link;
};

/** One update: one command uses a link. @throws ApiError VALIDATION_ERROR */
export const takeLink = async (
  database: Database,
  purpose: LinkPurpose,
  token: string,
  commandId: string,
  field = 'token',
): Promise<OneTimeLink> => {
  const { rows } = await database.query<OneTimeLink>({
    name: 'link-take',
    text: `update one_time_links set used_at = coalesce(used_at, clock_timestamp()), used_by = $3
           where ${condition} returning ${columns}`,
    values: [hashOfToken(token), purpose, commandId],
  });
  const [link] = rows;
  if (link === undefined) throw unusableLink(field);
  return link;
};

export const unusableLink = (field: string): ApiError =>
  invalid(`${field} is unknown, was used or has expired. Ask for a new link.`, field);
