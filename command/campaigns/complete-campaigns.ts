import { randomUUID } from 'node:crypto';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { createSweep } from '../../shared/work-list/sweep.ts';
import { executeOnCampaign } from './handler.ts';

const ACTOR = 'worker:campaigns';

export interface EndedFlight {
  readonly customerId: number;
  readonly id: string;
  /** Text keeps the microseconds. */
  readonly endsAt: string;
}

type FindEnded = (
  now: string,
  after: EndedFlight | undefined,
  rowsMax: number,
) => Promise<readonly EndedFlight[]>;

/** The stream decides, so a lagging read model or several nodes complete no campaign twice. */
export const createEndedFlights = (
  { store, clock }: { readonly store: EventStore; readonly clock: Clock },
  findEnded: FindEnded,
  runMsMax?: number,
): Purgeable =>
  createSweep<EndedFlight>(
    {
      find: (after, rowsMax) => findEnded(isoTimestamp(clock.now()), after, rowsMax),
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
