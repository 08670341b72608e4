/** Counts the items of a feed while it comes in, however it is cut into pieces, in a memory that does not grow with it. */
export interface ItemCounter {
  add(piece: Uint8Array): void;
  /** So far, about. */
  seen(): number;
  /** Of a feed that has ended; undefined where its items cannot be told. */
  count(): number | undefined;
  /** It is a page to look at, such as that of a log-in. */
  isWebPage?(): boolean;
}
