import type { AuditLog } from '../../domain/history/audit-log-resource.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';

/** Joined when read: no event contains an address, and a removed user has none. */
export const withEmails = async (
  database: TenantDatabase,
  customerId: number,
  entries: readonly AuditLog[],
): Promise<readonly AuditLog[]> => {
  const userIds = [...new Set(entries.flatMap(({ userId }) => userId ?? []))];
  if (userIds.length === 0) return entries;
  const rows = await database.query<{ userId: string; email: string }>(customerId, {
    name: 'emails-of-users',
    text: `select user_id as "userId", email from user_addresses
           where customer_id = $1 and user_id = any($2::text[]) and announced`,
    values: [customerId, textArray(userIds)],
  });
  const emails = new Map(rows.map(({ userId, email }) => [userId, email]));
  return entries.map((entry) => {
    const userEmail = emails.get(entry.userId ?? '');
    return userEmail === undefined ? entry : { ...entry, userEmail };
  });
};
