import type { Writable } from 'node:stream';
import type { FeedPlace } from '../notifications/cursor.ts';
import { byeFrame, type ByeReason } from './frames.ts';
import { isAfter, type LiveEntry } from './live-feed.ts';

/** An HTTP response whose head is sent. */
export type Sink = Pick<Writable, 'write' | 'end' | 'destroy' | 'once'>;

export interface StreamRequest {
  readonly sink: Sink;
  readonly wants: (entry: LiveEntry) => boolean;
  /** Whether the credential would still be accepted. @throws if that cannot be known now */
  readonly isAllowed: () => Promise<boolean>;
  /** When the credential expires, from `performance.now()`. */
  readonly expiresAtMs: number | undefined;
}

/** Nothing is queued for a stream: it reads on when its client has taken what was sent. Times: `performance.now()`. */
export interface LiveStream extends StreamRequest {
  readonly endsAtMs: number;
  /** Number in the ring of the next entry. Undefined: it reads the table, after `sent`. */
  next: number | undefined;
  /** The last entry that was sent or passed over. */
  sent: FeedPlace;
  isReading: boolean;
  isOver: boolean;
  /** Since then the client has not taken what was sent. */
  blockedAtMs: number | undefined;
  writtenAtMs: number;
  /** When a frame with an id was written. */
  idAtMs: number;
}

/** @param onDrain called when the client has taken what was sent, if it did not keep up */
export const writeTo = (stream: LiveStream, text: string, nowMs: number, onDrain: () => void): void => {
  stream.writtenAtMs = nowMs;
  if (stream.sink.write(text) || stream.blockedAtMs !== undefined) return;
  stream.blockedAtMs = nowMs;
  stream.sink.once('drain', () => {
    stream.blockedAtMs = undefined;
    onDrain();
  });
};

/** @returns the frames that the stream wants, perhaps none */
export const passOver = (stream: LiveStream, entries: readonly LiveEntry[]): string => {
  let text = '';
  for (const entry of entries) {
    // A cursor of another node may be ahead of this one.
    if (!isAfter(entry.place, stream.sent)) continue;
    stream.sent = entry.place;
    if (!entry.changesAccess && stream.wants(entry)) text += entry.frame;
  }
  return text;
};

/** A client that does not read gets no farewell: it would wait behind what the client has not read. */
export const endStream = (stream: LiveStream, reason: ByeReason): void => {
  if (stream.isOver) return;
  if (stream.blockedAtMs !== undefined) {
    cutStream(stream);
    return;
  }
  stream.isOver = true;
  stream.sink.end(byeFrame(reason));
};

export const cutStream = (stream: LiveStream): void => {
  stream.isOver = true;
  stream.sink.destroy();
};
