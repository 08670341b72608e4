import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { createdShape } from '../fields.ts';
import { AccountMapping, engineConnectionFields } from './resource.ts';

const Credential = z.object({
  /** Refers to the encrypted key. No event contains the key. */
  secretId: z.string(),
  maskedKey: z.string(),
  ...createdShape(engineConnectionFields),
});

const EngineConnected = z.object({
  /** UUID of the account's slot for the engine; names the stream. */
  slotId: z.string(),
  connectionId: z.string(),
  customerId: z.int(),
  engineId: z.int(),
  ...Credential.shape,
});

export const engineConnectionEvents = {
  EngineConnected: { schemaVersion: 1, data: EngineConnected },
  EngineRekeyed: { schemaVersion: 1, data: Credential },
  EngineAccountSelected: { schemaVersion: 1, data: z.object({ accountId: z.string() }) },
  /** Replaces an earlier mapping of the account. */
  EngineAccountMapped: { schemaVersion: 1, data: AccountMapping },
  EngineDisconnected: { schemaVersion: 1, data: z.object({}) },
} as const;

export type EngineConnectionEvent = EventsOf<typeof engineConnectionEvents>;
export type EngineConnected = z.infer<typeof EngineConnected>;
