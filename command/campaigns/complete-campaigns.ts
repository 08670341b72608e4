import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { createSweep } from '../../shared/work-list/sweep.ts';
import { executeOnCampaign } from './load.ts';

const ACTOR = 'worker:campaigns';

interface Installation {
  readonly store: EventStore;
  /** Not bound to an account. */
  readonly pool: Pool;
  readonly clock: Clock;
}

interface ActiveRow {
  readonly customerId: number;
  readonly id: string;
  /** Text keeps the microseconds. */
  readonly endsAt: string;
}

const FIRST_ACTIVE: ActiveRow = {
  customerId: 0,
  id: '00000000-0000-0000-0000-000000000000',
  endsAt: '-infinity',
};

/**
 * Completes campaigns whose flight is over. Each campaign's stream decides, so a lagging read model or several nodes
 * complete none twice.
 */
export const createEndedFlights = ({ store, pool, clock }: Installation, runMsMax?: number): Purgeable =>
  createSweep<ActiveRow>(
    {
      find: async (after = FIRST_ACTIVE, rowsMax) => {
        const { rows } = await pool.query<ActiveRow>({
          name: 'ended-flights',
          text: `select customer_id::float8 as "customerId", id, ends_at::text as "endsAt" from campaigns
                 where phase in ('active', 'paused') and ends_at <= $1::timestamptz
                   and (ends_at, customer_id, id) > ($2::timestamptz, $3::bigint, $4::uuid)
                 order by ends_at, customer_id, id limit $5`,
          values: [isoTimestamp(clock.now()), after.endsAt, after.customerId, after.id, rowsMax],
        });
        return rows;
      },
      work: async ({ customerId, id }) => {
        const commandId = randomUUID();
        const context = { commandId, customerId, actor: ACTOR, requestId: commandId };
        // Archived campaigns refuse the command. Flights also end below an archived advertiser.
        const now = isoTimestamp(clock.now());
        const command = { type: 'CompleteCampaign', now, advertiserIsArchived: false } as const;
        await executeOnCampaign({ store }, id, command, { context });
      },
    },
    runMsMax,
  );
