/** Bytes of which a few are looked at, wherever they are: never all of them in memory. */
export interface ByteSource {
  readonly bytes: number;
  /** Fewer than `length` at the end. */
  readAt(position: number, length: number): Promise<Buffer>;
}
