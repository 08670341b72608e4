import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { childrenOf, seedAt, type KeyTree, type Node } from './key-tree.ts';

export interface KeySet {
  readonly id: string;
  /** Encrypts all items together. */
  readonly whole: Buffer;
  /** Derives the key of each item. */
  readonly tree: KeyTree;
}

/** The encrypted data was changed, or belongs to another event. */
export class BrokenSealError extends Error {
  override readonly name = 'BrokenSealError';
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const IV_BYTES = 16;
const LENGTH_BYTES = 4;
const options = { authTagLength: TAG_BYTES };
const EVENT_DIGITS = 10;
const ITEM_DIGITS = 4;

const placeOfEvent = (eventId: string): string =>
  createHash('sha256').update(eventId).digest('hex').slice(0, EVENT_DIGITS);

/** @param item index from 0 to 65,535 */
export const placeOfItem = (eventId: string, item: number): string =>
  `${placeOfEvent(eventId)}${item.toString(16).padStart(ITEM_DIGITS, '0')}`;

/** Caches nodes: 16 consecutive keys cost little more than one. */
const itemKeys = (tree: KeyTree, eventId: string): ((item: number) => Buffer | undefined) => {
  const event = placeOfEvent(eventId);
  const base = seedAt(tree, event);
  const known = new Map<string, Node | undefined>();
  const below = (path: string): Node | undefined => {
    if (known.has(path)) return known.get(path);
    const node = tree.get(path) ?? expanded(path);
    known.set(path, node);
    return node;
  };
  const expanded = (path: string): Node | undefined => {
    const seed = path === event ? base : seedIn(path);
    return seed === undefined ? undefined : childrenOf(seed);
  };
  const seedIn = (path: string): Buffer | undefined =>
    below(path.slice(0, -1))?.[Number.parseInt(path.at(-1) ?? '', 16)];
  return (item) => seedIn(`${event}${item.toString(16).padStart(ITEM_DIGITS, '0')}`);
};

/** Base64. Each text with its own key, all together with the account's; decrypts only for this event. */
export const sealItems = ({ whole, tree }: KeySet, eventId: string, texts: readonly string[]): string => {
  const keyOf = itemKeys(tree, eventId);
  const iv = randomBytes(IV_BYTES);
  const lengths = Buffer.alloc(LENGTH_BYTES * (texts.length + 1));
  lengths.writeUInt32LE(texts.length, 0);
  const items = texts.map((text, item) => {
    const key = keyOf(item);
    if (key === undefined) throw new Error(`the keys of event ${eventId} were deleted`);
    const bytes = createCipheriv('aes-256-ctr', key, iv).update(text, 'utf8');
    lengths.writeUInt32LE(bytes.length, LENGTH_BYTES * (item + 1));
    return bytes;
  });
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', whole, nonce, options);
  cipher.setAAD(Buffer.from(eventId));
  const body = Buffer.concat([cipher.update(Buffer.concat([iv, lengths, ...items])), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
};

/** A text is undefined if its key was deleted. @throws BrokenSealError */
export const openItems = (
  { whole, tree }: KeySet,
  eventId: string,
  sealed: string,
): readonly (string | undefined)[] => {
  const plain = openWhole(whole, eventId, Buffer.from(sealed, 'base64'));
  const iv = plain.subarray(0, IV_BYTES);
  const count = plain.readUInt32LE(IV_BYTES);
  const keyOf = itemKeys(tree, eventId);
  let at = IV_BYTES + LENGTH_BYTES * (count + 1);
  return Array.from({ length: count }, (_, item) => {
    const length = plain.readUInt32LE(IV_BYTES + LENGTH_BYTES * (item + 1));
    const bytes = plain.subarray(at, (at += length));
    const key = keyOf(item);
    return key === undefined
      ? undefined
      : createDecipheriv('aes-256-ctr', key, iv).update(bytes).toString('utf8');
  });
};

const openWhole = (whole: Buffer, eventId: string, bytes: Buffer): Buffer => {
  try {
    const decipher = createDecipheriv('aes-256-gcm', whole, bytes.subarray(0, NONCE_BYTES), options);
    decipher.setAAD(Buffer.from(eventId));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch (error) {
    throw new BrokenSealError(`the personal data of event ${eventId} cannot be decrypted`, {
      cause: error,
    });
  }
};
