import type { EventsOf } from '../decision.ts';
import { Seller } from './resource.ts';

/** Version 2 adds the agent. */
const same = <Data>(data: Data): Data => data;

/** Each event contains the whole seller. */
export const sellerEvents = {
  SellerAdded: { schemaVersion: 2, data: Seller, upcasters: [same] },
  SellerChanged: { schemaVersion: 2, data: Seller, upcasters: [same] },
} as const;

export type SellerEvent = EventsOf<typeof sellerEvents>;
