import type { Readable } from 'node:stream';

/**
 * The store of bytes: objects that are written once, whole, and never changed. Adapters: `folder-store.ts` (a local
 * folder) and `s3-store.ts`. Both pass `test/contract/object-store.contract.ts`.
 */
export interface ObjectStore {
  readonly kind: 'folder' | 's3';
  /**
   * Begins to write what is to be an object; nobody can read a part of it before `keep`.
   * @param contentType for stores that keep one
   */
  begin(key: ObjectKey, contentType: string): Promise<Draft>;
  /** Size of an object in bytes; undefined when there is none of that key. */
  sizeOf(key: ObjectKey): Promise<number | undefined>;
  /**
   * An object, or the bytes of it in `range`.
   * @returns undefined when there is none of that key
   */
  read(key: ObjectKey, range?: ByteRange): Promise<Readable | undefined>;
  /** Does nothing when there is no such object. */
  remove(key: ObjectKey): Promise<void>;
  /**
   * Removes what drafts have left behind on this machine: of processes that have died.
   * @param olderThanMs for how long nothing was written to them
   * @returns how many
   */
  sweep(olderThanMs: number): Promise<number>;
  /** @throws ObjectStoreUnavailableError when it can be neither read nor written now */
  check(): Promise<void>;
}

/** First and last byte, both included, from 0. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Lower-case letters, digits, `-` and `.`, beginning with two letters or digits: safe in a path and in a URL. */
export type ObjectKey = string & { readonly __brand: 'ObjectKey' };

const KEY = /^[0-9a-z]{2}[0-9a-z-]{1,120}(?:\.[0-9a-z]{1,8})?$/;

/** Undefined when the text is not of the form that keys have. */
export const objectKeyOf = (text: string): ObjectKey | undefined =>
  KEY.test(text) ? (text as ObjectKey) : undefined;

/** Bytes that are being written. Exactly one of `keep` and `discard` ends it; both let go of all it holds. */
export interface Draft {
  /**
   * Writes the bytes, once.
   * @throws what `bytes` throws; ObjectStoreUnavailableError when they cannot be written
   */
  write(bytes: AsyncIterable<Buffer>): Promise<void>;
  /** Opens the bytes written for as long as `look` takes. */
  inspect<T>(look: (bytes: ByteSource) => Promise<T>): Promise<T>;
  /**
   * Makes the object, whole: once this is done it survives the loss of power, and before nobody sees a part of it.
   */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

/** The store cannot be reached, or is full. What was asked may have happened. */
export class ObjectStoreUnavailableError extends Error {
  override readonly name = 'ObjectStoreUnavailableError';
}

/** Bytes of which a few are looked at, wherever they are: never all of them in memory. */
export interface ByteSource {
  readonly bytes: number;
  /** Fewer than `length` at the end. */
  readAt(position: number, length: number): Promise<Buffer>;
}
