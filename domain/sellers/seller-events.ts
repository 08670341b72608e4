import type { EventsOf } from '../decision.ts';
import { Seller } from './seller-resource.ts';

/** Schema and current version of every event of the directory. Each says all that is known of its seller. */
export const sellerEvents = {
  SellerAdded: { schemaVersion: 1, data: Seller },
  SellerChanged: { schemaVersion: 1, data: Seller },
} as const;

export type SellerEvent = EventsOf<typeof sellerEvents>;
