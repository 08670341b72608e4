import type { Readable } from 'node:stream';

/** All adapters pass `test/contract/object-store.contract.ts`. */
export interface ObjectStore {
  readonly kind: 'folder' | 's3';
  /** No reader sees the object before `keep`. @param contentType for stores that record one */
  begin(key: ObjectKey, contentType: string): Promise<Draft>;
  sizeOf(key: ObjectKey): Promise<number | undefined>;
  read(key: ObjectKey, range?: ByteRange): Promise<Readable | undefined>;
  remove(key: ObjectKey): Promise<void>;
  /** Deletes drafts that dead processes on this machine left. @param olderThanMs since the last write */
  sweep(olderThanMs: number): Promise<number>;
  /** @throws ObjectStoreUnavailableError when the store is not readable and writable */
  check(): Promise<void>;
}

/** Inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Safe in paths and URLs: lower-case letters, digits, `-` and `.`, starting with two letters or digits. */
export type ObjectKey = string & { readonly __brand: 'ObjectKey' };

const KEY = /^[0-9a-z]{2}[0-9a-z-]{1,120}(?:\.[0-9a-z]{1,8})?$/;

export const objectKeyOf = (text: string): ObjectKey | undefined =>
  KEY.test(text) ? (text as ObjectKey) : undefined;

/** End it with exactly one of `keep` and `discard`; both release its resources. */
export interface Draft {
  /** Call it once. @throws any error of `bytes`; ObjectStoreUnavailableError */
  write(bytes: AsyncIterable<Buffer>): Promise<void>;
  inspect<T>(look: (bytes: ByteSource) => Promise<T>): Promise<T>;
  /** When this resolves, the object survives a power loss. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

/** The store is unreachable or full. The call may have had its effect. */
export class ObjectStoreUnavailableError extends Error {
  override readonly name = 'ObjectStoreUnavailableError';
}

export interface ByteSource {
  readonly bytes: number;
  /** Fewer than `length` bytes at the end of the file. */
  readAt(position: number, length: number): Promise<Buffer>;
}
