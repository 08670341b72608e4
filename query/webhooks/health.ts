import type { WebhookHealth } from '../../domain/webhooks/resource.ts';
import { uuidArray } from '../../shared/postgres/binary-array.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';

interface HealthRow {
  readonly id: string;
  readonly failureCount: number;
  readonly lastSuccess: string | null;
  readonly lastFailure: string | null;
}

const untried: WebhookHealth = { failureCount: 0 };

/** Workers write it: it is not part of the log. @returns the health of each id, in order */
export const findWebhookHealth = async (
  database: TenantDatabase,
  customerId: number,
  ids: readonly string[],
): Promise<readonly WebhookHealth[]> => {
  const rows = await database.query<HealthRow>(customerId, {
    name: 'find-webhook-health',
    text: `select h.subscription_id as id, h.failures as "failureCount",
             ${isoTimestampSql('h.last_success_at')} as "lastSuccess",
             ${isoTimestampSql('h.last_failure_at')} as "lastFailure"
           from webhook_health h where h.customer_id = $1 and h.subscription_id = any($2::uuid[])`,
    values: [customerId, uuidArray(ids)],
  });
  const known = new Map(
    rows.map(({ id, failureCount, lastSuccess, lastFailure }): readonly [string, WebhookHealth] => [
      id,
      { failureCount, lastSuccess: lastSuccess ?? undefined, lastFailure: lastFailure ?? undefined },
    ]),
  );
  return ids.map((id) => known.get(id) ?? untried);
};
