import type { Pool } from 'pg';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import { eachOf } from '../../shared/each-of.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { randomId } from '../../shared/ids.ts';
import type { Purgeable } from '../../shared/purge-regularly.ts';
import { completeCampaign } from './run-on-campaign.ts';

const ACTOR = 'worker:campaigns';

interface Installation {
  readonly store: EventStore;
  /** Sees the rows of all accounts. */
  readonly pool: Pool;
  readonly clock: Clock;
}

/**
 * Ends campaigns whose flight is over. The rows say which ones to look at; each campaign's own stream decides, so
 * that rows which are behind, or several nodes at once, end none twice.
 */
export const createEndedFlights = ({ store, pool, clock }: Installation): Purgeable => ({
  purge: async (rowsMax) => {
    const now = isoTimestamp(clock.now());
    const { rows } = await pool.query<{ customerId: number; id: string }>({
      name: 'ended-flights',
      text: `select customer_id::float8 as "customerId", id from campaigns
             where phase in ('active', 'paused') and ends_at <= $1::timestamptz order by ends_at limit $2`,
      values: [now, rowsMax],
    });
    await eachOf(rows, async ({ customerId, id }) => {
      const commandId = randomId();
      await completeCampaign(store, id, now, { commandId, customerId, actor: ACTOR, requestId: commandId });
    });
    // Until the rows say so, they are found again: what is left of a full page waits for the next round.
    return 0;
  },
});
