import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

export interface LongBody {
  took(bytes: number): void;
  end(): void;
}

interface BodyProgress {
  readonly request: IncomingMessage;
  readonly begunAt: number;
  readonly withinMs: number;
  bytes: number;
  judged: { readonly at: number; readonly bytes: number };
  timer: NodeJS.Timeout | undefined;
}

const ofSocket = new WeakMap<Duplex, BodyProgress>();

export const beginLongBody = (request: IncomingMessage, withinMs: number): LongBody => {
  const { socket } = request;
  const begunAt = performance.now();
  const body: BodyProgress = {
    request,
    begunAt,
    withinMs,
    bytes: 0,
    judged: { at: begunAt, bytes: 0 },
    timer: undefined,
  };
  ofSocket.set(socket, body);
  return {
    took: (bytes) => {
      body.bytes += bytes;
    },
    end: () => {
      clearTimeout(body.timer);
      if (ofSocket.get(socket) === body) ofSocket.delete(socket);
    },
  };
};

/** The client has sent buffered bytes, too. */
const arrivedOf = ({ request, bytes }: BodyProgress): number => bytes + request.readableLength;

/** Minimum pace of a long body after the request timeout. */
export interface Pace {
  readonly bytesPerSecondMin: number;
  readonly spanMs: number;
}

/** False if the body is too slow at its timeout; later `tooSlow` is called. */
export const createPaceCheck = ({ bytesPerSecondMin, spanMs }: Pace) => {
  const keepsPace = (body: BodyProgress, now: number): boolean => {
    const { request, begunAt, withinMs, judged } = body;
    if (now - begunAt >= withinMs) return false;
    if (request.readableLength >= request.readableHighWaterMark) return true;
    return arrivedOf(body) - judged.bytes >= (bytesPerSecondMin * (now - judged.at)) / 1_000;
  };
  const look = (body: BodyProgress, tooSlow: () => void): boolean => {
    const now = performance.now();
    if (!keepsPace(body, now)) return false;
    body.judged = { at: now, bytes: arrivedOf(body) };
    const again = (): void => {
      if (!body.request.complete && !look(body, tooSlow)) tooSlow();
    };
    body.timer = setTimeout(again, Math.min(spanMs, body.withinMs - (now - body.begunAt)));
    return true;
  };
  return (socket: Duplex, tooSlow: () => void): boolean => {
    const body = ofSocket.get(socket);
    // This body is complete, so the timeout belongs to the next request on the connection.
    if (body === undefined || body.request.complete) return false;
    // Node reports the timeout once per request, which is not documented.
    return body.timer !== undefined || look(body, tooSlow);
  };
};
