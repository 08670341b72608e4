import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** A body that may be under way for longer than requests are otherwise. */
export interface LongBody {
  /** So many bytes of it were taken. */
  took(bytes: number): void;
  /** No more of it is taken: the connection is like any other again. */
  end(): void;
}

interface Underway {
  readonly request: IncomingMessage;
  readonly begunAt: number;
  readonly withinMs: number;
  /** That were taken. */
  bytes: number;
  /** How it stood when it was last judged; bytes that had arrived. */
  judged: { readonly at: number; readonly bytes: number };
  timer: NodeJS.Timeout | undefined;
}

const ofSocket = new WeakMap<Duplex, Underway>();

/** From now on the body of the request may take `withinMs`, at the pace that the server asks for (`createPaceCheck`). */
export const beginLongBody = (request: IncomingMessage, withinMs: number): LongBody => {
  const { socket } = request;
  const begunAt = performance.now();
  const body: Underway = {
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

/** Also what waits to be taken: that it does is not the client's fault. */
const arrivedOf = ({ request, bytes }: Underway): number => bytes + request.readableLength;

/** What a long body has to keep up once other requests would be over. */
export interface Pace {
  readonly bytesPerSecondMin: number;
  /** Over each such span of time, ms. */
  readonly spanMs: number;
}

/**
 * To be asked when the time of a request is over that has not arrived. From then on a long body is looked after here, in
 * each span of time.
 * @returns true when it is a long body that keeps its pace; `tooSlow` is called when that ends before the body does
 */
export const createPaceCheck = ({ bytesPerSecondMin, spanMs }: Pace) => {
  const keepsPace = (body: Underway, now: number): boolean => {
    const { request, begunAt, withinMs, judged } = body;
    if (now - begunAt >= withinMs) return false;
    // What has come waits for us, and with it whatever the client would send.
    if (request.readableLength >= request.readableHighWaterMark) return true;
    return arrivedOf(body) - judged.bytes >= (bytesPerSecondMin * (now - judged.at)) / 1_000;
  };
  const look = (body: Underway, tooSlow: () => void): boolean => {
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
    // One that has arrived is not what is late: another request behind it is.
    if (body === undefined || body.request.complete) return false;
    // Node says it once for each request; that it does is written nowhere.
    return body.timer !== undefined || look(body, tooSlow);
  };
};
