import type { EventsOf } from '../decision.ts';
import { Seller } from './resource.ts';

/** Each event contains the whole seller. */
export const sellerEvents = {
  SellerAdded: { schemaVersion: 1, data: Seller },
  SellerChanged: { schemaVersion: 1, data: Seller },
} as const;

export type SellerEvent = EventsOf<typeof sellerEvents>;
