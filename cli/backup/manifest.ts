import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ArgumentsError } from '../parse-args.ts';

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();

const Manifest = z.object({
  format: z.literal(1),
  /** The version of the program that wrote it. */
  version: z.string(),
  createdAt: z.string(),
  /** `postgres`: the events are in a table of the backup; else in `events.ndjson`. */
  store: z.enum(['postgres', 'eventstoredb']),
  tables: z.record(z.string(), z.object({ columns: z.array(z.string()), rows: count, sha256: hash })),
  sequences: z.record(z.string(), z.number()),
  events: z.object({ count, sha256: hash.optional() }),
  assets: z.array(z.object({ key: z.string(), bytes: count, sha256: hash })),
  /** Ids of the keys that the secrets of the backup need. */
  keys: z.array(z.string()),
});
export type Manifest = z.output<typeof Manifest>;
export type ArchivedAsset = Manifest['assets'][number];

const NAME = 'manifest.json';

export const tablePath = (folder: string, name: string): string => join(folder, 'tables', `${name}.copy`);
export const assetPath = (folder: string, key: string): string => join(folder, 'assets', key);
export const eventsPath = (folder: string): string => join(folder, 'events.ndjson');
export const keysPath = (folder: string): string => join(folder, 'secret-keys.json');

/** Written last: a backup without it is incomplete. */
export const writeManifest = async (folder: string, manifest: Manifest): Promise<void> => {
  const file = await open(join(folder, NAME), 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(manifest, undefined, 1)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
};

/** @throws ArgumentsError */
export const readManifest = async (folder: string): Promise<Manifest> => {
  const text = await readFile(join(folder, NAME), 'utf8').catch(() => undefined);
  if (text === undefined) throw new ArgumentsError(`${folder} contains no complete backup`);
  const parsed = Manifest.safeParse(JSON.parse(text));
  if (!parsed.success) throw new ArgumentsError(`${join(folder, NAME)} is not a manifest of this format`);
  return parsed.data;
};

export const fileHash = async (path: string): Promise<string> => {
  const hashed = createHash('sha256');
  for await (const chunk of createReadStream(path)) hashed.update(chunk as Buffer);
  return hashed.digest('hex');
};
