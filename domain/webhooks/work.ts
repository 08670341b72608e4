import { z } from 'zod';
import { Timestamp } from '../values.ts';

/** Due deliveries of a subscription are sent. Key: the subscription; revision: position of the event. */
export const WEBHOOK = 'webhook';

/** Many deliveries of a subscription change, page by page. Key: of the change; revision: position of its event. */
export const WEBHOOK_ROWS = 'webhook-rows';

const ofSubscription = {
  subscriptionId: z.uuid(),
  /** The event's: only deliveries of earlier generations change; new ones get it. */
  generation: z.int(),
};

/** The data of an entry of `WEBHOOK_ROWS`. */
export const RowsChange = z.discriminatedUnion('is', [
  /** Due deliveries are canceled. */
  z.object({ is: z.literal('cancel'), ...ofSubscription }),
  /** Failed and canceled deliveries of events since then are due again. */
  z.object({ is: z.literal('recover'), ...ofSubscription, since: Timestamp }),
  /** Notifications of the period are delivered, whether or not they were before. */
  z.object({
    is: z.literal('replay'),
    ...ofSubscription,
    since: Timestamp,
    until: Timestamp,
    kinds: z.array(z.string()),
    /** Null: all. */
    advertiserIds: z.array(z.int()).nullable(),
    requestedAt: Timestamp,
  }),
]);
export type RowsChange = z.infer<typeof RowsChange>;
export type Replay = Extract<RowsChange, { readonly is: 'replay' }>;
