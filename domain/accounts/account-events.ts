import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { Role, Scope } from './access.ts';

/** Its first user comes with it (`firstUser`). With `sellerId` it is that seller's account: it buys nothing. */
const AccountOpened = z.object({ customerId: z.int(), name: z.string(), sellerId: z.int().optional() });

const UserAdded = z.object({ userId: z.string(), name: z.string(), role: Role });

/**
 * Never the key or its hash: a reference and the masked form. The first keys ever issued name no user, who is
 * then the account's first one, and no scopes, which are then all that the role allows.
 */
const ApiKeyIssued = z.object({
  keyId: z.string(),
  name: z.string(),
  maskedKey: z.string(),
  userId: z.string().optional(),
  scopes: z.array(Scope).optional(),
  expiresAt: z.string().optional(),
});

const ApiKeyRevoked = z.object({ keyId: z.string() });

const nothingMore = z.object({});

/**
 * Version 2 knows of sellers: one role and one scope more. What version 1 says it means still. A program that knows
 * version 1 only leaves the stream out rather than taking such a user for another.
 */
const ofSellersToo = { schemaVersion: 2, upcasters: [<Data>(data: Data): Data => data] } as const;

/** Schema and current version of every event an account's stream can hold. */
export const accountEvents = {
  AccountOpened: { schemaVersion: 1, data: AccountOpened },
  AccountDisabled: { schemaVersion: 1, data: nothingMore },
  AccountEnabled: { schemaVersion: 1, data: nothingMore },
  UserAdded: { ...ofSellersToo, data: UserAdded },
  ApiKeyIssued: { ...ofSellersToo, data: ApiKeyIssued },
  ApiKeyRevoked: { schemaVersion: 1, data: ApiKeyRevoked },
} as const;

export type AccountEvent = EventsOf<typeof accountEvents>;
