import type { ServerResponse } from 'node:http';

export interface KeepAliveOptions {
  /** Between two comments, ms. */
  readonly everyMs: number;
  /** Specification, Other bounds: a connection lasts up to 30 minutes. */
  readonly connectionMs: number;
}

export interface KeepAliveStreams {
  /** A session has one stream on a process: an earlier one ends. @param isAllowed is asked before each comment */
  open(session: string, response: ServerResponse, isAllowed: () => Promise<boolean>): void;
  close(): void;
}

interface Stream {
  readonly response: ServerResponse;
  readonly endsAtMs: number;
  readonly isAllowed: () => Promise<boolean>;
}

/** GET streams of sessions: they only tell that the connection lives. One timer for all of them, and none without. */
export const createKeepAliveStreams = ({ everyMs, connectionMs }: KeepAliveOptions): KeepAliveStreams => {
  const streams = new Map<string, Stream>();
  let timer: NodeJS.Timeout | undefined;

  const end = (session: string, { response }: Stream): void => {
    if (streams.get(session)?.response === response) streams.delete(session);
    response.end();
    if (streams.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const keep = async (session: string, stream: Stream): Promise<void> => {
    if (stream.endsAtMs <= performance.now() || !(await stream.isAllowed())) end(session, stream);
    else stream.response.write(': keep-alive\n\n');
  };
  const tick = (): void => {
    for (const [session, stream] of streams) keep(session, stream).catch(() => end(session, stream));
  };

  return {
    open: (session, response, isAllowed) => {
      const earlier = streams.get(session);
      const stream = { response, isAllowed, endsAtMs: performance.now() + connectionMs };
      streams.set(session, stream);
      earlier?.response.end();
      timer ??= setInterval(tick, everyMs);
      response.once('close', () => end(session, stream));
      response.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store, no-transform',
        'X-Accel-Buffering': 'no',
      });
      response.write(': connected\n\n');
    },
    close: () => {
      for (const [session, stream] of streams) end(session, stream);
    },
  };
};
