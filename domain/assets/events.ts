import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { createdShape } from '../fields.ts';
import { assetFields } from './resource.ts';

const { advertiserId, name, mimeType, mediaKind, source, storageKey, bytes, textContent, ...measures } =
  createdShape(assetFields);

const AssetReserved = z.object({
  assetId: z.string(),
  customerId: z.int(),
  advertiserId,
  name,
  mimeType,
  mediaKind,
  source,
  bytesMax: z.int(),
  bytes: bytes.optional(),
  /** Hex. */
  sha256: z.string().optional(),
  ...measures,
  expiresAt: z.string(),
});

const AssetUploaded = z.object({ storageKey, bytes, sha256: z.string(), ...measures, textContent });

export const assetEvents = {
  AssetReserved: { schemaVersion: 1, data: AssetReserved },
  AssetUploaded: { schemaVersion: 1, data: AssetUploaded },
  AssetReservationExpired: { schemaVersion: 1, data: z.object({}) },
  AssetRemoved: { schemaVersion: 1, data: z.object({}) },
} as const;

export type AssetEvent = EventsOf<typeof assetEvents>;
export type AssetReserved = z.infer<typeof AssetReserved>;
export type AssetUploaded = z.infer<typeof AssetUploaded>;
