import { z } from 'zod';
import type { EventsOf } from '../decision.ts';

export const EngineAccount = z.object({ id: z.string(), name: z.string() });
export type EngineAccount = z.infer<typeof EngineAccount>;

/** A key's data. Never the key, which is stored encrypted under `secretId`. */
const Credential = z.object({
  secretId: z.string(),
  maskedKey: z.string(),
  /** The engine's answer for the key; empty if the engine cannot be asked. */
  accounts: z.array(EngineAccount),
  connectedBy: z.string(),
});

const EngineConnected = z.object({
  /** UUID of the account's connection slot for the engine; names the stream. */
  slotId: z.string(),
  connectionId: z.string(),
  customerId: z.int(),
  engineId: z.int(),
  ...Credential.shape,
});

const EngineAccountSelected = z.object({ accountId: z.string() });

/** Replaces an earlier mapping of the account. */
const EngineAccountMapped = z.object({
  linkId: z.string(),
  accountId: z.string(),
  advertiserId: z.int(),
});

export const engineConnectionEvents = {
  EngineConnected: { schemaVersion: 1, data: EngineConnected },
  EngineRekeyed: { schemaVersion: 1, data: Credential },
  EngineAccountSelected: { schemaVersion: 1, data: EngineAccountSelected },
  EngineAccountMapped: { schemaVersion: 1, data: EngineAccountMapped },
  EngineDisconnected: { schemaVersion: 1, data: z.object({}) },
} as const;

export type EngineConnectionEvent = EventsOf<typeof engineConnectionEvents>;
export type EngineConnected = z.infer<typeof EngineConnected>;
export type EngineAccountMapped = z.infer<typeof EngineAccountMapped>;
