import type { Readable } from 'node:stream';

/** What a route answers with instead of text. */
export interface OutgoingBytes {
  readonly contentType: string;
  readonly length: number;
  /** Begins to read them. */
  readonly open: () => Promise<Readable>;
}
