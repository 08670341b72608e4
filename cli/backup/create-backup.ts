import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Client } from 'pg';
import type { Config } from '../../app/config.ts';
import type { Installation } from '../../app/installation.ts';
import { version } from '../../app/version.ts';
import { shortLivedTables } from '../../migrations/tables.ts';
import { printPosition } from '../../shared/event-store/dense-position.ts';
import type { Position } from '../../shared/event-store/event-store.ts';
import {
  dumpTable,
  sequenceValues,
  tableColumns,
  withCopyClient,
} from '../../shared/postgres/copy-tables.ts';
import { checkSecrets } from '../../shared/secrets/check-secrets.ts';
import { keyRingOf } from '../../shared/secrets/key-ring.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { syncFolder } from '../../shared/storage/sync-folder.ts';
import type { OnProgress } from '../command.ts';
import { createAssetDump } from './dump-assets.ts';
import { openEventDump } from './dump-events.ts';
import { IncompleteBackupError } from './incomplete-backup-error.ts';
import { keysPath, tablePath, writeManifest, type Manifest } from './manifest.ts';

export interface CreateOptions {
  readonly installation: Installation;
  readonly config: Config;
  readonly folder: string;
  /** Also writes the keys that decrypt the secrets. */
  readonly withKeys: boolean;
  readonly onProgress: OnProgress;
}

/**
 * Writes everything that an installation consists of: tables as of one moment, then the events up to it (all of them,
 * if they are not in a table), and the bytes of assets, so that no state refers to something that is missing. The
 * service may run. Most bytes are copied before the tables: an asset that is deleted meanwhile still has its row there.
 * @throws IncompleteBackupError if a secret or an asset is missing in the installation itself
 */
export const createBackup = async (options: CreateOptions): Promise<Manifest> => {
  const { installation, folder, withKeys } = options;
  const draft = `${folder}.partial`;
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(draft, { mode: 0o700 });
  for (const name of ['tables', 'assets']) await mkdir(join(draft, name));
  const contents = await dumpContents(options, draft);
  const keys = await dumpKeys(options, draft, withKeys);
  const manifest: Manifest = {
    format: 1,
    version,
    createdAt: new Date().toISOString(),
    store: installation.storeKind,
    ...contents,
    keys,
  };
  await writeManifest(draft, manifest);
  await syncFolder(draft);
  await rename(draft, folder);
  return manifest;
};

const dumpContents = async (
  { installation, config, onProgress }: CreateOptions,
  folder: string,
): Promise<Pick<Manifest, 'tables' | 'sequences' | 'events' | 'assets'>> => {
  const objects = await openObjectStore(config.ASSET_STORE_URL, config.DATA_DIR);
  const assets = createAssetDump(objects, folder);
  const log = await openEventDump(installation, folder, (event) => assets.take(event), onProgress);
  try {
    await log.readOn();
    await assets.copy();
    const { end, ...stored } = await dumpDatabase(installation, folder);
    await log.readOn(end);
    await assets.copy();
    return { ...stored, events: await log.finish(), assets: await assets.finish() };
  } finally {
    await log.close();
  }
};

/** @returns `end`: the last event of the tables, if they contain the events */
const dumpDatabase = (
  { databaseUrl, storeKind }: Installation,
  folder: string,
): Promise<Pick<Manifest, 'tables' | 'sequences'> & { readonly end: Position | undefined }> =>
  withCopyClient(databaseUrl, async (client) => {
    await client.query('begin isolation level repeatable read read only');
    const tables: Manifest['tables'] = {};
    for (const [name, columns] of await tableColumns(client)) {
      if (shortLivedTables.includes(name)) continue;
      const copied = await dumpTable(client, name, columns, tablePath(folder, name));
      tables[name] = { ...copied, columns: [...columns] };
    }
    const sequences = await sequenceValues(client);
    const end = storeKind === 'postgres' ? await lastPosition(client) : undefined;
    await client.query('commit');
    return { tables, sequences, end };
  });

const lastPosition = async (client: Client): Promise<Position> => {
  const { rows } = await client.query<{ last: number }>(
    'select coalesce(max(position), 0)::float8 as last from events',
  );
  return printPosition(rows[0]?.last ?? 0);
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
