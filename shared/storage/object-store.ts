import type { Readable } from 'node:stream';

/**
 * Stores immutable objects, each written once and as a whole. Adapters: `folder-store.ts` and `s3-store.ts`. Both pass
 * `test/contract/object-store.contract.ts`.
 */
export interface ObjectStore {
  readonly kind: 'folder' | 's3';
  /**
   * Begins a draft of an object. No reader sees any part of the object before `keep`.
   * @param contentType used only by stores that record one
   */
  begin(key: ObjectKey, contentType: string): Promise<Draft>;
  /** @returns the object's size in bytes; undefined if no object has this key */
  sizeOf(key: ObjectKey): Promise<number | undefined>;
  /** @returns a stream of the object, or of its bytes in `range`; undefined if no object has this key */
  read(key: ObjectKey, range?: ByteRange): Promise<Readable | undefined>;
  remove(key: ObjectKey): Promise<void>;
  /**
   * Deletes abandoned drafts of dead processes on this machine.
   * @param olderThanMs minimum time since the last write to a draft
   * @returns the number of deleted drafts
   */
  sweep(olderThanMs: number): Promise<number>;
  /** @throws ObjectStoreUnavailableError when the store is not readable and writable */
  check(): Promise<void>;
}

/** First and last byte, inclusive, zero-based. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Lower-case letters, digits, `-` and `.`, starting with two letters or digits: safe in a path and in a URL. */
export type ObjectKey = string & { readonly __brand: 'ObjectKey' };

const KEY = /^[0-9a-z]{2}[0-9a-z-]{1,120}(?:\.[0-9a-z]{1,8})?$/;

/** @returns undefined if the text is not a valid key */
export const objectKeyOf = (text: string): ObjectKey | undefined =>
  KEY.test(text) ? (text as ObjectKey) : undefined;

/** An object that is being written. End it with exactly one of `keep` and `discard`; both release its resources. */
export interface Draft {
  /**
   * Writes all bytes. Call it once.
   * @throws any error of `bytes`; ObjectStoreUnavailableError when the bytes cannot be written
   */
  write(bytes: AsyncIterable<Buffer>): Promise<void>;
  /** Opens the written bytes until `look` ends. */
  inspect<T>(look: (bytes: ByteSource) => Promise<T>): Promise<T>;
  /** Publishes the whole object. When this resolves, the object survives a power loss. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

/** The store is unreachable or full. The call may have had its effect. */
export class ObjectStoreUnavailableError extends Error {
  override readonly name = 'ObjectStoreUnavailableError';
}

/** Random access to a file without loading all of it into memory. */
export interface ByteSource {
  readonly bytes: number;
  /** @returns fewer than `length` bytes at the end of the file */
  readAt(position: number, length: number): Promise<Buffer>;
}
