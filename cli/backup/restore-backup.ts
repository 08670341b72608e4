import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { constants, copyFile, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Client } from 'pg';
import type { Config } from '../../app/config.ts';
import type { Installation } from '../../app/installation.ts';
import { createLog } from '../../app/log.ts';
import { START, type RecordedEvent } from '../../shared/event-store/event-store.ts';
import { fillTable, setSequences, tableColumns, withCopyClient } from '../../shared/postgres/copy-tables.ts';
import { withoutForcedPolicies } from '../../shared/postgres/isolate-tenants.ts';
import { countServices } from '../../shared/postgres/running-services.ts';
import { checkSecrets } from '../../shared/secrets/check-secrets.ts';
import { keyRingOf } from '../../shared/secrets/key-ring.ts';
import { objectKeyOf, type ObjectStore } from '../../shared/storage/object-store.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import type { OnProgress } from '../command.ts';
import { fileCheckpoint } from '../event-move/copy-checkpoint.ts';
import { copyEvents } from '../event-move/copy-events.ts';
import { createLogDigest } from '../event-move/log-digest.ts';
import { verifyEvents } from '../event-move/verify-events.ts';
import { writePage } from '../event-move/write-page.ts';
import { openEventStore } from '../open-event-store.ts';
import {
  assetPath,
  eventsPath,
  fileHash,
  keysPath,
  readManifest,
  tablePath,
  type ArchivedAsset,
  type Manifest,
} from './manifest.ts';

export class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

export interface RestoreOptions {
  readonly installation: Installation;
  readonly config: Config;
  readonly folder: string;
  readonly onProgress: OnProgress;
}

export interface RestoreResult {
  readonly events: number;
  readonly secrets: number;
  readonly assets: number;
  /** The events are in another kind of store than those of the backup: positions differ. */
  readonly isOtherLog: boolean;
}

const PAGE_EVENTS = 1_000;

export const hasKeys = (folder: string): Promise<boolean> =>
  stat(keysPath(folder)).then(
    () => true,
    () => false,
  );

/** The installation's key, if it has none. Before the installation is opened, which would draw another one. */
export const restoreKeys = async (folder: string, { SECRET_KEYS, DATA_DIR }: Config): Promise<void> => {
  if (SECRET_KEYS !== undefined) return;
  await mkdir(DATA_DIR, { recursive: true });
  // A key that is there is kept: `refuseLostKeys` reports one that is missing then.
  if (await hasKeys(folder)) {
    await copyFile(keysPath(folder), join(DATA_DIR, 'secret-keys.json'), constants.COPYFILE_EXCL).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
};

/**
 * Fills empty stores, and returns only when every event, secret and asset of the backup is there. Run it again after an
 * interruption: it starts again.
 * @throws RestoreError
 */
export const restoreBackup = async (options: RestoreOptions): Promise<RestoreResult> => {
  const { installation, config, folder, onProgress } = options;
  const manifest = await readManifest(folder);
  await refuseLostKeys(manifest, config);
  await refuseChangedFiles(manifest, folder);
  await withCopyClient(installation.databaseUrl, (client) => restoreDatabase(client, manifest, options));
  const events = await restoreEvents(options, manifest);
  const objects = await openObjectStore(config.ASSET_STORE_URL, config.DATA_DIR);
  let done = 0;
  for (const asset of manifest.assets) {
    await restoreAsset(objects, asset, folder);
    done += 1;
    onProgress({ fraction: done / manifest.assets.length, phase: 'assets' });
  }
  const { secrets, unreadable } = await checkSecrets(installation.pool, await keyRingOf(config)());
  if (Object.keys(unreadable).length > 0) {
    throw new RestoreError(
      `secrets cannot be decrypted: ${JSON.stringify(unreadable)}, by the id of their key`,
    );
  }
  await withCopyClient(installation.databaseUrl, (client) => mark(client, null));
  const isOtherLog = manifest.store !== installation.storeKind || manifest.store === 'eventstoredb';
  return { events, secrets, assets: manifest.assets.length, isOtherLog };
};

/** Also a key that no secret needs: confirmations and addresses of uploads are signed with the oldest one. */
const refuseLostKeys = async ({ keys }: Manifest, config: Config): Promise<void> => {
  const ring = await keyRingOf(config)();
  const lost = keys.filter((id) => ring.every((key) => key.id !== id));
  if (lost.length === 0) return;
  throw new RestoreError(
    `SECRET_KEYS lacks the keys ${lost.join(', ')} of the backup, so its secrets could not be read. Append their ` +
      'id:key pairs, e.g. from secret-keys.json of a backup that was created with --with-keys. Nothing was changed.',
  );
};

const refuseChangedFiles = async (manifest: Manifest, folder: string): Promise<void> => {
  const files: [string, string][] = [
    ...Object.entries(manifest.tables).map(([name, { sha256 }]): [string, string] => [
      tablePath(folder, name),
      sha256,
    ]),
    ...manifest.assets.map(({ key, sha256 }): [string, string] => [assetPath(folder, key), sha256]),
  ];
  const { sha256 } = manifest.events;
  if (sha256 !== undefined) files.push([eventsPath(folder), sha256]);
  for (const [path, expected] of files) {
    const found = await fileHash(path).catch(() => 'missing');
    if (found === 'missing') throw new RestoreError(`${path} is missing. Nothing was changed.`);
    if (found !== expected)
      throw new RestoreError(`${path} was changed after the backup. Nothing was changed.`);
  }
};

/** In the comment of a table, so that a repeated restore does not take its own rows for another installation. */
const mark = async (client: Client, text: string | null): Promise<void> => {
  await client.query(`comment on table secrets is ${text === null ? 'null' : client.escapeLiteral(text)}`);
};

const restoreDatabase = async (
  client: Client,
  manifest: Manifest,
  { installation, folder }: RestoreOptions,
): Promise<void> => {
  const { pool, sealedStore } = installation;
  const services = await countServices(pool);
  if (services > 0) {
    throw new RestoreError(
      `${services} processes of the service run on the database: stop them, then restore`,
    );
  }
  const marker = `restoring the backup of ${manifest.createdAt}`;
  const { rows } = await client.query<{ marker: string | null }>(
    `select obj_description('secrets'::regclass) as marker`,
  );
  const isRepeated = rows[0]?.marker === marker;
  if (!isRepeated && (await sealedStore.head()) !== START) {
    throw new RestoreError('the event store is not empty: restore to empty stores');
  }
  const there = await tableColumns(client);
  await client.query('begin');
  await mark(client, marker);
  await client.query(`truncate ${[...there.keys()].map((name) => `"${name}"`).join(', ')}`);
  await withoutForcedPolicies(client, () => fillTables(client, there, manifest, folder));
  await setSequences(client, manifest.sequences);
  await client.query('commit');
  await client.query('analyze');
};

const fillTables = async (
  client: Client,
  there: ReadonlyMap<string, readonly string[]>,
  { tables, version }: Manifest,
  folder: string,
): Promise<void> => {
  for (const [name, { columns, rows: expected }] of Object.entries(tables)) {
    const lacking = columns.filter((column) => there.get(name)?.includes(column) !== true);
    if (lacking.length > 0) {
      throw new RestoreError(
        `this version has no ${name}.${lacking[0]}: restore with version ${version}, then update`,
      );
    }
    const found = await fillTable(client, name, columns, tablePath(folder, name));
    if (found !== expected) throw new RestoreError(`${name}: ${found} of ${expected} rows were restored`);
  }
};

/** @returns their number */
const restoreEvents = async (options: RestoreOptions, manifest: Manifest): Promise<number> => {
  const { installation, config, folder, onProgress } = options;
  if (manifest.store === 'eventstoredb') return restoreEventFile(options, manifest);
  if (installation.storeKind === 'postgres') return manifest.tables['events']?.rows ?? 0;
  const source = await openEventStore(installation.databaseUrl, config, createLog('silent'));
  try {
    const checkpoint = fileCheckpoint(join(config.DATA_DIR, 'restore-events.json'));
    const to = installation.sealedStore;
    const { events } = await copyEvents({ from: source.store, to, checkpoint, onProgress });
    const { same, differences } = await verifyEvents(source.store, to, onProgress);
    if (!same)
      throw new RestoreError(
        `the copied events differ: ${JSON.stringify(differences.slice(0, 5))} (${folder})`,
      );
    await checkpoint.remove();
    return events;
  } finally {
    await source.close();
  }
};

const restoreEventFile = async (
  { installation: { sealedStore }, folder, onProgress }: RestoreOptions,
  { events: { count } }: Manifest,
): Promise<number> => {
  const digest = createLogDigest();
  for await (const page of pagesOf(eventsPath(folder))) {
    await writePage(sealedStore, page);
    page.forEach((event) => digest.add(event));
    onProgress({ events: digest.events, fraction: count === 0 ? 1 : digest.events / count });
  }
  const written = createLogDigest();
  for (let after = START; ;) {
    const page = await sealedStore.readAll({ after, limit: PAGE_EVENTS });
    const last = page.at(-1);
    if (last === undefined) break;
    page.forEach((event) => written.add(event));
    after = last.position;
  }
  if (digest.events !== count || digest.differing(written).length > 0) {
    throw new RestoreError(
      `the event store contains ${written.events} events that differ from ${count} of the backup`,
    );
  }
  return count;
};

const pagesOf = async function* (path: string): AsyncGenerator<readonly RecordedEvent[]> {
  let page: RecordedEvent[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) {
    page.push(JSON.parse(line) as RecordedEvent);
    if (page.length < PAGE_EVENTS) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
};

const restoreAsset = async (
  objects: ObjectStore,
  { key, sha256 }: ArchivedAsset,
  folder: string,
): Promise<void> => {
  const object = objectKeyOf(key);
  if (object === undefined) throw new RestoreError(`${key} is not a key of an asset`);
  if ((await hashOf(objects, key)) === sha256) return;
  const draft = await objects.begin(object, 'application/octet-stream');
  try {
    await draft.write(createReadStream(assetPath(folder, key)));
    await draft.keep();
  } catch (error) {
    await draft.discard();
    throw error;
  }
  if ((await hashOf(objects, key)) !== sha256)
    throw new RestoreError(`the asset ${key} was not stored as it was`);
};

const hashOf = async (objects: ObjectStore, key: string): Promise<string | undefined> => {
  const object = objectKeyOf(key);
  const bytes = object === undefined ? undefined : await objects.read(object);
  if (bytes === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of bytes) hash.update(chunk as Buffer);
  return hash.digest('hex');
};
