import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { syncFolder } from '../storage/sync-folder.ts';

export interface SecretKey {
  /** Stored with each ciphertext, so that keys can be rotated. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** The first key encrypts, every key decrypts. */
export type KeyRing = readonly [SecretKey, ...SecretKey[]];

const KEY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9_-]{43})$/;

/** `id:key` pairs; a key is 32 bytes as base64url. @throws RangeError without the text */
export const parseKeyRing = (text: string): KeyRing => {
  const [first, ...others] = text.split(',').map((pair): SecretKey => {
    const [, id, key] = KEY.exec(pair.trim()) ?? [];
    if (id === undefined || key === undefined) {
      throw new RangeError('must be id:key pairs, separated by commas; a key is 32 bytes as base64url');
    }
    return { id, bytes: Buffer.from(key, 'base64url') };
  });
  if (first === undefined) throw new RangeError('must have at least one key');
  const ids = new Set([first, ...others].map(({ id }) => id));
  if (ids.size !== others.length + 1) throw new RangeError('must give every key a different id');
  return [first, ...others];
};

export const keyRingOf =
  ({ SECRET_KEYS, DATA_DIR }: { readonly SECRET_KEYS?: KeyRing | undefined; readonly DATA_DIR: string }) =>
  async (): Promise<KeyRing> =>
    SECRET_KEYS ?? keyRingOfFile(DATA_DIR);

export const loadOnce = <Ring = KeyRing>(ask: () => Promise<Ring>): (() => Promise<Ring>) => {
  let ring: Promise<Ring> | undefined;
  return () => {
    ring ??= ask();
    ring.catch(() => {
      ring = undefined;
    });
    return ring;
  };
};

const FILE_NAME = 'secret-keys.json';
const KeyFile = z.object({ keys: z.string() });

/** If several processes create the file at the same time, all use the key of the first. */
export const keyRingOfFile = async (dataDir: string): Promise<KeyRing> => {
  const path = join(dataDir, FILE_NAME);
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (known !== undefined) return parseKeyRing(KeyFile.parse(JSON.parse(known)).keys);
  await mkdir(dataDir, { recursive: true });
  const draft = join(dataDir, `.${FILE_NAME}-${process.pid}-${randomBytes(6).toString('base64url')}`);
  const file = await open(draft, 'wx', 0o600);
  try {
    // The id must sort before later ids such as a year: `keyed-digest.ts` uses the first id.
    await file.writeFile(
      `${JSON.stringify({ keys: `0-${randomBytes(6).toString('base64url')}:${randomBytes(32).toString('base64url')}` })}\n`,
    );
    await file.sync();
    // Unlike a rename, a link never replaces an existing file.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await syncFolder(dataDir);
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return keyRingOfFile(dataDir);
};
