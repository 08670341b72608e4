const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 3_000;

/** Server-sent events, one text a frame (HTML, 9.2.6). JSON contains no line break. */
const frame = (event: string, data: object, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** A comment, which clients ignore. */
export const HEARTBEAT = ':\n\n';

/** `retry` is random, so that the streams of a node that ends do not return at the same moment. */
export const readyFrame = (id: string, random: number): string =>
  `retry: ${Math.round(RETRY_MS_MIN + random * (RETRY_MS_MAX - RETRY_MS_MIN))}\n${frame('ready', {}, id)}`;

/** Notifications before `oldest` are deleted, and the client has missed some. */
export const resetFrame = (id: string, oldest: string): string => frame('reset', { oldest }, id);

export const cursorFrame = (id: string): string => frame('cursor', {}, id);

export type ByeReason = 'age' | 'credential' | 'limit' | 'shutdown';

export const byeFrame = (reason: ByeReason): string => frame('bye', { reason });

export const notificationFrame = (id: string, kind: string, body: object): string => frame(kind, body, id);
