import { setTimeout as delay } from 'node:timers/promises';

export interface Frame {
  readonly id?: string;
  readonly event: string;
  readonly data: string;
}

/** Frames of a text of server-sent events. What follows the last blank line is incomplete, and no frame. */
export const framesOf = (text: string): readonly Frame[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .map((lines) => Object.fromEntries(lines.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2))))
    .filter((frame): frame is Frame => 'event' in frame);

/** Kinds of frames that are not events of the account. */
const OWN_FRAMES = ['ready', 'cursor', 'reset', 'bye', 'conversions'];

export interface OpenStream {
  readonly status: number;
  readonly headers: Headers;
  /** Everything received so far. */
  readonly text: () => string;
  readonly frames: () => readonly Frame[];
  /** Frames of events. */
  readonly events: () => readonly Frame[];
  readonly lastId: () => string | undefined;
  /** @throws Error when it does not hold after `timeoutMs`, default 10,000 */
  until(holds: (frames: readonly Frame[]) => boolean, timeoutMs?: number): Promise<readonly Frame[]>;
  /** Resolves when the service has ended the stream. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** Opens a stream with `fetch`. An answer other than 200 is read whole, and its text is that of the stream. */
export const openStream = async (
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  query = '',
): Promise<OpenStream> => {
  const ending = new AbortController();
  const answer = await fetch(`${baseUrl}/api/v2/buyer/realtime${query}`, { headers, signal: ending.signal });
  let text = '';
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of answer.body ?? [])
      text += decoder.decode(bytes as Uint8Array, { stream: true });
  };
  const ended = read().catch(() => undefined);
  if (answer.status !== 200) await ended;
  const frames = (): readonly Frame[] => framesOf(text);
  return {
    status: answer.status,
    headers: answer.headers,
    text: () => text,
    frames,
    events: () => frames().filter(({ event }) => !OWN_FRAMES.includes(event)),
    lastId: () => frames().findLast(({ id }) => id !== undefined)?.id,
    until: async (holds, timeoutMs = 10_000) => {
      const deadline = performance.now() + timeoutMs;
      while (!holds(frames())) {
        if (performance.now() > deadline) throw new Error(`it does not hold:\n${text}`);
        await delay(2);
      }
      return frames();
    },
    ended,
    close: async () => {
      ending.abort();
      await ended;
    },
  };
};
