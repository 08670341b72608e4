import { z } from 'zod';
import type { DomainEvent } from '../decision.ts';
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

/** Schema and current version of every event an account's stream can hold. */
export const accountEvents = {
  AccountOpened: { schemaVersion: 1, data: AccountOpened },
  AccountDisabled: { schemaVersion: 1, data: nothingMore },
  AccountEnabled: { schemaVersion: 1, data: nothingMore },
  UserAdded: { schemaVersion: 1, data: UserAdded },
  ApiKeyIssued: { schemaVersion: 1, data: ApiKeyIssued },
  ApiKeyRevoked: { schemaVersion: 1, data: ApiKeyRevoked },
} as const;

type Schemas = typeof accountEvents;
export type AccountEvent = {
  [Type in keyof Schemas]: DomainEvent<Type, z.infer<Schemas[Type]['data']>>;
}[keyof Schemas];
