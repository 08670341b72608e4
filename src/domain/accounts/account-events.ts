import { z } from 'zod';
import type { DomainEvent } from '../decision.ts';

const AccountOpened = z.object({ customerId: z.int(), name: z.string() });

/** Never the key or its hash: a reference and the masked form. */
const ApiKeyIssued = z.object({ keyId: z.string(), name: z.string(), maskedKey: z.string() });

/** Schema and current version of every event an account's stream can hold. */
export const accountEvents = {
  AccountOpened: { schemaVersion: 1, data: AccountOpened },
  ApiKeyIssued: { schemaVersion: 1, data: ApiKeyIssued },
} as const;

type Schemas = typeof accountEvents;
export type AccountEvent = {
  [Type in keyof Schemas]: DomainEvent<Type, z.infer<Schemas[Type]['data']>>;
}[keyof Schemas];
