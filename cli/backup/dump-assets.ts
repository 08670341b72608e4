import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { objectKeyOf, type ObjectStore } from '../../shared/storage/object-store.ts';
import { IncompleteBackupError } from './incomplete-backup-error.ts';
import { assetPath, type ArchivedAsset } from './manifest.ts';

const UploadedData = z.object({ storageKey: z.string(), bytes: z.int(), sha256: z.string() });

export interface AssetDump {
  take(event: RecordedEvent): void;
  /** Copies the bytes that are there, of the assets that the events so far have left. */
  copy(): Promise<void>;
  /** @throws IncompleteBackupError if the bytes of an asset were not copied */
  finish(): Promise<ArchivedAsset[]>;
}

export const createAssetDump = (objects: ObjectStore, folder: string): AssetDump => {
  /** Hash, by storage key. */
  const uploaded = new Map<string, string>();
  const keyOfStream = new Map<string, string>();
  const copied = new Map<string, ArchivedAsset>();
  return {
    take: ({ type, stream, data }) => {
      if (type === 'AssetUploaded') {
        const { storageKey, sha256 } = UploadedData.parse(data);
        uploaded.set(storageKey, sha256);
        keyOfStream.set(stream, storageKey);
      } else if (type === 'AssetRemoved') uploaded.delete(keyOfStream.get(stream) ?? '');
    },
    copy: async () => {
      for (const [key, sha256] of uploaded) {
        if (copied.has(key)) continue;
        const object = objectKeyOf(key);
        const bytes = object === undefined ? undefined : await objects.read(object);
        const found = bytes === undefined ? undefined : await saveBytes(bytes, assetPath(folder, key));
        if (found?.sha256 === sha256) copied.set(key, { key, ...found });
      }
    },
    finish: async () => {
      for (const key of copied.keys()) if (!uploaded.has(key)) await rm(assetPath(folder, key));
      const missing = [...uploaded.keys()].filter((key) => !copied.has(key));
      if (missing.length === 0) return [...uploaded.keys()].flatMap((key) => copied.get(key) ?? []);
      const names = missing.slice(0, 20).join(', ');
      throw new IncompleteBackupError(
        `The bytes of ${missing.length} assets are missing in the store of assets, or were changed: ${names}`,
      );
    },
  };
};

const saveBytes = async (bytes: Readable, path: string): Promise<Omit<ArchivedAsset, 'key'>> => {
  const hash = createHash('sha256');
  let size = 0;
  const through = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(bytes, through, createWriteStream(path, { mode: 0o600, flush: true }));
  return { bytes: size, sha256: hash.digest('hex') };
};
