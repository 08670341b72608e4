import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Config } from '../../app/config.ts';
import type { Installation } from '../../app/installation.ts';
import { version } from '../../app/version.ts';
import { shortLivedTables } from '../../migrations/tables.ts';
import {
  START,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import {
  dumpTable,
  sequenceValues,
  tableColumns,
  withCopyClient,
} from '../../shared/postgres/copy-tables.ts';
import { checkSecrets } from '../../shared/secrets/check-secrets.ts';
import { keyRingOf } from '../../shared/secrets/key-ring.ts';
import { objectKeyOf, type ObjectStore } from '../../shared/storage/object-store.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { syncFolder } from '../../shared/storage/sync-folder.ts';
import type { OnProgress } from '../command.ts';
import { persist } from '../event-move/persist.ts';
import { fractionOf } from '../event-move/copy-events.ts';
import {
  assetPath,
  eventsPath,
  keysPath,
  tablePath,
  writeManifest,
  type ArchivedAsset,
  type Manifest,
} from './manifest.ts';

class IncompleteBackupError extends Error {
  override readonly name = 'IncompleteBackupError';
}

const PAGE_EVENTS = 1_000;

export interface CreateOptions {
  readonly installation: Installation;
  readonly config: Config;
  readonly folder: string;
  /** Also writes the keys that decrypt the secrets. */
  readonly withKeys: boolean;
  readonly onProgress: OnProgress;
}

/**
 * Writes everything that an installation consists of: tables as of one moment, then the events, then the bytes of
 * assets, so that no state refers to something that is missing. The service may run.
 * @throws IncompleteBackupError if a secret or an asset is missing in the installation itself
 */
export const createBackup = async (options: CreateOptions): Promise<Manifest> => {
  const { installation, config, folder, withKeys, onProgress } = options;
  const draft = `${folder}.partial`;
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(draft, { mode: 0o700 });
  for (const name of ['tables', 'assets']) await mkdir(join(draft, name));
  const stored = await dumpDatabase(installation, draft);
  const { uploaded, ...events } = await dumpEvents(installation, draft, onProgress);
  const objects = await openObjectStore(config.ASSET_STORE_URL, config.DATA_DIR);
  const assets = await dumpAssets(objects, uploaded, draft);
  const keys = await dumpKeys(options, draft, withKeys);
  const manifest: Manifest = {
    format: 1,
    version,
    createdAt: new Date().toISOString(),
    store: installation.storeKind,
    ...stored,
    events,
    assets,
    keys,
  };
  await writeManifest(draft, manifest);
  await syncFolder(draft);
  await rename(draft, folder);
  return manifest;
};

const dumpDatabase = (
  { databaseUrl }: Installation,
  folder: string,
): Promise<Pick<Manifest, 'tables' | 'sequences'>> =>
  withCopyClient(databaseUrl, async (client) => {
    await client.query('begin isolation level repeatable read read only');
    const tables: Manifest['tables'] = {};
    for (const [name, columns] of await tableColumns(client)) {
      if (shortLivedTables.includes(name)) continue;
      const copied = await dumpTable(client, name, columns, tablePath(folder, name));
      tables[name] = { ...copied, columns: [...columns] };
    }
    const sequences = await sequenceValues(client);
    await client.query('commit');
    return { tables, sequences };
  });

const UploadedData = z.object({ storageKey: z.string(), bytes: z.int(), sha256: z.string() });

interface UploadedBytes {
  readonly bytes: number;
  readonly sha256: string;
}

/** In Postgres the events are a table; the log is then read for the assets alone. */
const dumpEvents = async (
  { sealedStore, storeKind }: Installation,
  folder: string,
  onProgress: OnProgress,
): Promise<Manifest['events'] & { readonly uploaded: ReadonlyMap<string, UploadedBytes> }> => {
  const uploaded = new Map<string, UploadedBytes>();
  const keyOfStream = new Map<string, string>();
  const take = ({ type, stream, data }: RecordedEvent): void => {
    if (type === 'AssetUploaded') {
      const { storageKey, bytes, sha256 } = UploadedData.parse(data);
      uploaded.set(storageKey, { bytes, sha256 });
      keyOfStream.set(stream, storageKey);
    } else if (type === 'AssetRemoved') uploaded.delete(keyOfStream.get(stream) ?? '');
  };
  if (storeKind === 'postgres') {
    const count = await eachPage(sealedStore, onProgress, async (page) => page.forEach(take));
    return { count, uploaded };
  }
  const file = createWriteStream(eventsPath(folder), { mode: 0o600 });
  const hash = createHash('sha256');
  const count = await eachPage(sealedStore, onProgress, async (page) => {
    page.forEach(take);
    const text = page.map((event) => `${JSON.stringify(event)}\n`).join('');
    hash.update(text);
    if (!file.write(text)) await once(file, 'drain');
  });
  file.end();
  await once(file, 'close');
  return { count, sha256: hash.digest('hex'), uploaded };
};

const eachPage = async (
  store: EventStore,
  onProgress: OnProgress,
  take: (page: readonly RecordedEvent[]) => Promise<void>,
): Promise<number> => {
  const end = await persist(() => store.head());
  let events = 0;
  for (let after: Position = START; ;) {
    const page = await persist(() => store.readAll({ after, limit: PAGE_EVENTS }));
    const last = page.at(-1);
    if (last === undefined) return events;
    await take(page);
    events += page.length;
    after = last.position;
    onProgress({ events, fraction: fractionOf(store, after, end) });
  }
};

const dumpAssets = async (
  objects: ObjectStore,
  uploaded: ReadonlyMap<string, UploadedBytes>,
  folder: string,
): Promise<ArchivedAsset[]> => {
  const assets: ArchivedAsset[] = [];
  const missing: string[] = [];
  for (const [key, expected] of uploaded) {
    const object = objectKeyOf(key);
    const bytes = object === undefined ? undefined : await objects.read(object);
    const found = bytes === undefined ? undefined : await saveBytes(bytes, assetPath(folder, key));
    if (found?.sha256 === expected.sha256) assets.push({ key, ...found });
    else missing.push(key);
  }
  if (missing.length === 0) return assets;
  const names = missing.slice(0, 20).join(', ');
  throw new IncompleteBackupError(
    `The bytes of ${missing.length} assets are missing in the store of assets, or were changed: ${names}`,
  );
};

const saveBytes = async (bytes: Readable, path: string): Promise<UploadedBytes> => {
  const hash = createHash('sha256');
  let size = 0;
  const through = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(bytes, through, createWriteStream(path, { mode: 0o600 }));
  return { bytes: size, sha256: hash.digest('hex') };
};

/** @returns the ids of the keys of the installation */
const dumpKeys = async (
  { installation, config }: CreateOptions,
  folder: string,
  withKeys: boolean,
): Promise<string[]> => {
  const ring = await keyRingOf(config)();
  const { unreadable } = await checkSecrets(installation.pool, ring);
  const lost = Object.entries(unreadable).map(([id, count]) => `${count} with key ${id}`);
  if (lost.length > 0) {
    throw new IncompleteBackupError(`Secrets cannot be decrypted with SECRET_KEYS: ${lost.join(', ')}`);
  }
  if (withKeys) {
    const keys = ring.map(({ id, bytes }) => `${id}:${bytes.toString('base64url')}`).join(',');
    await writeFile(keysPath(folder), `${JSON.stringify({ keys })}\n`, { mode: 0o600 });
  }
  return ring.map(({ id }) => id);
};
