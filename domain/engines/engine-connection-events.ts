import { z } from 'zod';
import type { EventsOf } from '../decision.ts';

/** An account that the buyer has at the engine. */
export const EngineAccount = z.object({ id: z.string(), name: z.string() });
export type EngineAccount = z.infer<typeof EngineAccount>;

/** What a key brings with it. Never the key: that is kept encrypted, under `secretId`. */
const Credential = z.object({
  secretId: z.string(),
  maskedKey: z.string(),
  /** As the engine said when it looked at the key; none where nobody can be asked. */
  accounts: z.array(EngineAccount),
  /** Who gave the key. */
  connectedBy: z.string(),
});

const EngineConnected = z.object({
  /** Of the stream: the account's place for this engine. */
  slotId: z.string(),
  connectionId: z.string(),
  customerId: z.int(),
  engineId: z.int(),
  ...Credential.shape,
});

const EngineAccountSelected = z.object({ accountId: z.string() });

/** Replaces the account's earlier mapping, if it had one. */
const EngineAccountMapped = z.object({
  linkId: z.string(),
  accountId: z.string(),
  advertiserId: z.int(),
});

/** Schema and current version of every event that the stream of an account's connections to an engine can hold. */
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
