import type { Pool } from 'pg';
import type { OverdueReservation } from '../../command/assets/sweep-assets.ts';
import type { EndedFlight } from '../../command/campaigns/complete-campaigns.ts';

type Database = Pick<Pool, 'query'>;

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Longer than any upload can last after its token has expired. */
const OVERDUE_MINUTES = 60;

/** @param pool not bound to an account */
export const findOverdueReservations =
  (pool: Database) =>
  async (after: OverdueReservation | undefined, rowsMax: number): Promise<readonly OverdueReservation[]> => {
    const { rows } = await pool.query<OverdueReservation>({
      name: 'overdue-reservations',
      text: `select customer_id::float8 as "customerId", id, expires_at::text as "expiresAt" from assets
             where status = 'RESERVED'
               and expires_at < now() - interval '${OVERDUE_MINUTES} minutes'
               and (expires_at, customer_id, id) > ($1::timestamptz, $2::bigint, $3::uuid)
             order by expires_at, customer_id, id limit $4`,
      values: [after?.expiresAt ?? '-infinity', after?.customerId ?? 0, after?.id ?? FIRST_ID, rowsMax],
    });
    return rows;
  };

/** @param pool not bound to an account */
export const findEndedFlights =
  (pool: Database) =>
  async (now: string, after: EndedFlight | undefined, rowsMax: number): Promise<readonly EndedFlight[]> => {
    const { rows } = await pool.query<EndedFlight>({
      name: 'ended-flights',
      text: `select customer_id::float8 as "customerId", id, ends_at::text as "endsAt" from campaigns
             where phase in ('active', 'paused') and ends_at <= $1::timestamptz
               and (ends_at, customer_id, id) > ($2::timestamptz, $3::bigint, $4::uuid)
             order by ends_at, customer_id, id limit $5`,
      values: [now, after?.endsAt ?? '-infinity', after?.customerId ?? 0, after?.id ?? FIRST_ID, rowsMax],
    });
    return rows;
  };
