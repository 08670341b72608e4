import type { Pool, QueryConfig, QueryResultRow } from 'pg';
import type { AskDatabase } from '../command/assets/asset-writes.ts';
import { assetWriteRoutes } from '../command/assets/routes.ts';
import {
  createGoneAssets,
  createOrphanedObjects,
  createOverdueReservations,
} from '../command/assets/sweep-assets.ts';
import { createUploadTokens } from '../command/assets/upload-token.ts';
import { loadCreative } from '../command/creatives/run-on-creative.ts';
import { shownAssetId } from '../domain/assets/asset-resource.ts';
import type { AssetReads } from '../query/assets/list-assets.ts';
import { assetReadRoutes } from '../query/assets/routes.ts';
import { isAssetInUse } from '../query/creatives/list-creatives.ts';
import { behind } from '../query/resources/behind.ts';
import { systemClock } from '../shared/async/clock.ts';
import type { SnapshotStore } from '../shared/aggregate/snapshots.ts';
import type { Config } from './config.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { unavailable } from '../shared/http/errors.ts';
import type { ReadinessPart } from '../shared/async/readiness.ts';
import type { Route } from '../shared/http/route.ts';
import type { Purgeable } from '../shared/async/purge-regularly.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';
import { openObjectStore } from '../shared/storage/open-object-store.ts';

/** What a process has for assets and uploads. */
export interface AssetParts {
  readonly routes: (reads: AssetReads & { readonly snapshots: SnapshotStore }) => readonly Route[];
  /** What is left of uploads that were never finished, by what it is; for any process of the installation. */
  readonly purgeable: Readonly<Record<string, Purgeable>>;
  /** What processes of this machine have left on its disk. */
  readonly drafts: Readonly<Record<string, Purgeable>>;
  readonly readiness: readonly ReadinessPart[];
}

interface AssetSettings {
  readonly keys: () => Promise<KeyRing>;
  /** How clients reach the service. */
  readonly baseUrl: () => string;
  /** Whether the database is up to date. */
  readonly isPrepared: () => boolean;
}

/** Longer than any upload goes without a byte. */
const DRAFT_IDLE_MS_MAX = 10 * 60_000;

export const createAssetParts = async (
  { pool, store }: { readonly pool: Pool; readonly store: EventStore },
  { ASSET_STORE_URL, DATA_DIR, UPLOAD_BYTES_MAX: bytesMax, UPLOADS_OPEN_MAX: uploadsOpenMax, ROLES }: Config,
  { keys, baseUrl, isPrepared }: AssetSettings,
): Promise<AssetParts> => {
  const objects = await openObjectStore(ASSET_STORE_URL, DATA_DIR);
  const writes = { store, pool, clock: systemClock, objects };
  return {
    routes: (reads) => [
      ...assetWriteRoutes({
        ...writes,
        ...reads,
        pool: whenPrepared(pool, isPrepared),
        tokens: createUploadTokens(keys),
        bytesMax,
        uploadsOpenMax,
        baseUrl,
        isInUse: (customerId, assetId) =>
          isAssetInUse(
            {
              ...reads,
              foldCreative: (account, creativeId) => loadCreative({ ...reads, store }, account, creativeId),
            },
            customerId,
            shownAssetId(assetId),
          ).catch(behind),
      }),
      ...assetReadRoutes({ ...reads, objects, baseUrl }),
    ],
    purgeable: {
      'reservations of uploads': createOverdueReservations(writes),
      'objects of no asset': createOrphanedObjects(writes),
      'assets that are gone': createGoneAssets(writes),
    },
    drafts: { 'drafts of uploads': { purge: () => objects.sweep(DRAFT_IDLE_MS_MAX) } },
    readiness: ROLES.some((role) => role !== 'projector') ? [readinessOf(objects)] : [],
  };
};

/** Everything else works without it. */
const readinessOf = (objects: ObjectStore): ReadinessPart => ({
  name: 'assetStore',
  optional: true,
  check: async () => {
    await objects.check();
    return { ready: true, detail: { kind: objects.kind } };
  },
});

/** Uploads bring no credential, whose check would find out before. */
const whenPrepared = (pool: Pool, isPrepared: () => boolean): AskDatabase => ({
  query: async <Row extends QueryResultRow>(question: QueryConfig) => {
    if (!isPrepared()) throw unavailable('The service is starting. Repeat the request after Retry-After.');
    return pool.query<Row>(question);
  },
});
