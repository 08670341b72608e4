import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** A key of AES-256. */
export interface SecretKey {
  /** Kept with what it encrypts, so that keys can be replaced one after the other. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** The keys that secrets are encrypted with: the first one seals, all of them open. */
export type KeyRing = readonly [SecretKey, ...SecretKey[]];

const KEY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9_-]{43})$/;

/**
 * Reads `id:key` pairs, separated by commas; a key is 32 bytes as base64url.
 * @throws RangeError for anything else; it never shows the text
 */
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
  if (ids.size !== others.length + 1) throw new RangeError('must give every key another id');
  return [first, ...others];
};

/** The keys of an installation: those of its settings, else those of its folder. */
export const keyRingOf =
  ({ SECRET_KEYS, DATA_DIR }: { readonly SECRET_KEYS?: KeyRing | undefined; readonly DATA_DIR: string }) =>
  async (): Promise<KeyRing> =>
    SECRET_KEYS ?? keyRingOfFile(DATA_DIR);

/** Asks for the keys once, when they are first needed; again after a failure. */
export const askedOnce = (ask: () => Promise<KeyRing>): (() => Promise<KeyRing>) => {
  let ring: Promise<KeyRing> | undefined;
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

/**
 * The keys of `dataDir`, for installations that bring none: drawn once, in a file that only its owner can read. Of
 * several processes that start on an empty folder, all use the first one's.
 */
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
    // Sorts before any id that is given later, like a year: `keyed-digest.ts` goes by what sorts first.
    await file.writeFile(
      `${JSON.stringify({ keys: `0-${randomBytes(6).toString('base64url')}:${randomBytes(32).toString('base64url')}` })}\n`,
    );
    await file.sync();
    // Unlike a rename, a link never replaces what is there.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return keyRingOfFile(dataDir);
};
