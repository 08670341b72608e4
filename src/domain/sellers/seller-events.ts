import type { z } from 'zod';
import type { DomainEvent } from '../decision.ts';
import { Seller } from './seller-resource.ts';

/** Schema and current version of every event of the directory. Each says all that is known of its seller. */
export const sellerEvents = {
  SellerAdded: { schemaVersion: 1, data: Seller },
  SellerChanged: { schemaVersion: 1, data: Seller },
} as const;

type Schemas = typeof sellerEvents;
export type SellerEvent = {
  [Type in keyof Schemas]: DomainEvent<Type, z.infer<Schemas[Type]['data']>>;
}[keyof Schemas];
