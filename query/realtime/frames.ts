import type { LiveEntry } from './live-feed.ts';

/** What a stream sends, in the format of its protocol. Empty texts are not sent. */
export interface StreamTexts {
  /** @param id of the place where the stream begins @param random from 0 up to 1 */
  ready(id: string, random: number): string;
  /** Notifications before `oldest` are deleted, and the client has missed some. */
  reset(id: string, oldest: string): string;
  cursor(id: string): string;
  entry(entry: LiveEntry): string;
  bye(reason: ByeReason): string;
  readonly heartbeat: string;
  /** Conversion events were counted. Empty for streams that did not ask for it. */
  readonly conversions: string;
}

export type ByeReason = 'age' | 'credential' | 'limit' | 'shutdown';

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 3_000;

/** Server-sent events, one text a frame (HTML, 9.2.6). JSON contains no line break. */
const frame = (event: string, data: object, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** The frames of `GET /realtime`. */
export const eventTexts = (wants: (entry: LiveEntry) => boolean, wantsConversions = false): StreamTexts => ({
  // `retry` is random, so that the streams of a node that ends do not return at the same moment.
  ready: (id, random) =>
    `retry: ${Math.round(RETRY_MS_MIN + random * (RETRY_MS_MAX - RETRY_MS_MIN))}\n${frame('ready', {}, id)}`,
  reset: (id, oldest) => frame('reset', { oldest }, id),
  cursor: (id) => frame('cursor', {}, id),
  entry: (entry) => (wants(entry) ? entry.frame : ''),
  bye: (reason) => frame('bye', { reason }),
  // A comment, which clients ignore.
  heartbeat: ':\n\n',
  conversions: wantsConversions ? frame('conversions', {}) : '',
});

export const notificationFrame = (id: string, kind: string, body: object): string => frame(kind, body, id);
