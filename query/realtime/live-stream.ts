import type { FeedPlace } from '../notifications/cursor.ts';
import type { ByeReason, StreamTexts } from './frames.ts';
import { isAfter, type LiveEntry } from './live-feed.ts';

/** Takes the texts of a stream, e.g. an HTTP response whose head is sent. */
export interface Sink {
  /** @returns false: nothing more until it has drained */
  write(text: string): boolean;
  end(text: string): unknown;
  destroy(): unknown;
  once(event: 'drain', listener: () => void): unknown;
}

export interface StreamRequest {
  readonly sink: Sink;
  readonly texts: StreamTexts;
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
  if (text === '') return;
  if (stream.sink.write(text) || stream.blockedAtMs !== undefined) return;
  stream.blockedAtMs = nowMs;
  stream.sink.once('drain', () => {
    stream.blockedAtMs = undefined;
    onDrain();
  });
};

/** @returns what the stream sends of them, perhaps nothing */
export const passOver = (stream: LiveStream, entries: readonly LiveEntry[]): string => {
  let text = '';
  for (const entry of entries) {
    // A cursor of another node may be ahead of this one.
    if (!isAfter(entry.place, stream.sent)) continue;
    stream.sent = entry.place;
    if (!entry.changesAccess) text += stream.texts.entry(entry);
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
  stream.sink.end(stream.texts.bye(reason));
};

export const cutStream = (stream: LiveStream): void => {
  stream.isOver = true;
  stream.sink.destroy();
};
