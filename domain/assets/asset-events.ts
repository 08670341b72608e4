import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { AssetSource, MediaKind } from './asset-values-resource.ts';

/** Pixels and milliseconds. */
const facts = {
  width: z.int().optional(),
  height: z.int().optional(),
  durationMs: z.int().optional(),
};

const AssetReserved = z.object({
  assetId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  name: z.string(),
  mimeType: z.string(),
  mediaKind: MediaKind,
  source: AssetSource,
  /** More is not taken. */
  bytesMax: z.int(),
  /** Promised: exactly so many. */
  bytes: z.int().optional(),
  /** Promised, hex. */
  sha256: z.string().optional(),
  /** As the buyer says: for what the bytes do not tell. */
  ...facts,
  /** Until then an upload may begin. */
  expiresAt: z.string(),
});

const AssetUploaded = z.object({
  /** The one place where the bytes are; never another's. */
  storageKey: z.string(),
  bytes: z.int(),
  /** Hex. */
  sha256: z.string(),
  /** As the bytes say. */
  ...facts,
  /** Of a short plain text: all of it. */
  textContent: z.string().optional(),
});

/** Schema and current version of every event that an asset's stream can hold. */
export const assetEvents = {
  AssetReserved: { schemaVersion: 1, data: AssetReserved },
  AssetUploaded: { schemaVersion: 1, data: AssetUploaded },
  /** Its bytes never came, and are not taken any more. */
  AssetReservationExpired: { schemaVersion: 1, data: z.object({}) },
  AssetRemoved: { schemaVersion: 1, data: z.object({}) },
} as const;

export type AssetEvent = EventsOf<typeof assetEvents>;
export type AssetReserved = z.infer<typeof AssetReserved>;
export type AssetUploaded = z.infer<typeof AssetUploaded>;
