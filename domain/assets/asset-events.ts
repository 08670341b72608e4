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
  bytesMax: z.int(),
  /** The exact size that the buyer announced. */
  bytes: z.int().optional(),
  /** Announced by the buyer; hex. */
  sha256: z.string().optional(),
  /** From the buyer, for types whose bytes do not contain them. */
  ...facts,
  expiresAt: z.string(),
});

const AssetUploaded = z.object({
  /** Unique: no other asset refers to the same object. */
  storageKey: z.string(),
  bytes: z.int(),
  sha256: z.string(),
  ...facts,
  /** The whole content of a short plain text. */
  textContent: z.string().optional(),
});

export const assetEvents = {
  AssetReserved: { schemaVersion: 1, data: AssetReserved },
  AssetUploaded: { schemaVersion: 1, data: AssetUploaded },
  /** The upload did not arrive in time. */
  AssetReservationExpired: { schemaVersion: 1, data: z.object({}) },
  AssetRemoved: { schemaVersion: 1, data: z.object({}) },
} as const;

export type AssetEvent = EventsOf<typeof assetEvents>;
export type AssetReserved = z.infer<typeof AssetReserved>;
export type AssetUploaded = z.infer<typeof AssetUploaded>;
