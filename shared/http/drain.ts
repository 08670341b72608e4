import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { sleep } from '../async/backoff.ts';
import type { Logger } from 'pino';
import { isBehindLast, makeLast } from './last-answer.ts';

/**
 * The listener closes once no client has connected for this long, or after `BACKLOG_WAIT_MS_MAX` whatever the clients
 * do. Twice that is the bound of the whole wait.
 */
const BACKLOG_QUIET_MS = 20;
const BACKLOG_WAIT_MS_MAX = 250;
/** A turn of the event loop that took longer may have been interrupted, and clients had time to connect. */
const SHORT_TURN_MS = 1;
/** Idle connections close once no request has begun for this long, or after `QUIET_WAIT_MS_MAX`. */
const QUIET_MS = 100;
const QUIET_WAIT_MS_MAX = 2_000;
/** Requests that run for longer than this are cut. */
const DRAIN_MS_MAX = 10_000;

type Exchange = readonly [request: IncomingMessage, response: ServerResponse];
type Serve = (...exchange: Exchange) => void;

export interface Drain {
  /** Handles a request: to be the server's listener for them. */
  readonly serve: Serve;
  /**
   * Ends the server without resetting a connection that it has accepted.
   * @param delayMs how long the listener stays open, for a balancer to notice
   */
  end(server: Server, delayMs: number): Promise<void>;
}

/** Passes requests to `serve`, and every one from the beginning of the end as the last of its connection. */
export const createDrain = (serve: Serve, log: Logger): Drain => {
  const running = new Set<ServerResponse>();
  let isEnding = false;
  let begun = 0;
  let held: Exchange[] | undefined;
  return {
    serve: (request, response) => {
      if (isBehindLast(request)) return;
      begun += 1;
      if (isEnding) makeLast(response);
      else trackUntilClosed(running, response);
      if (held === undefined) serve(request, response);
      else held.push([request, response]);
    },
    end: async (server, delayMs) => {
      isEnding = true;
      for (const response of lastOfEachConnection(running)) {
        if (!response.headersSent) makeLast(response);
      }
      if (delayMs > 0) await sleep(delayMs);
      // A client that has no answer yet does not come back: while requests wait, clients stop connecting.
      const waiting: Exchange[] = (held = []);
      await untilBacklogIsEmpty(server);
      const closed = closeListener(server);
      held = undefined;
      for (const [request, response] of waiting) serve(request, response);
      await endConnections(server, closed, () => begun, log);
    },
  };
};

const trackUntilClosed = (running: Set<ServerResponse>, response: ServerResponse): void => {
  running.add(response);
  response.once('close', () => running.delete(response));
};

/** A client may have sent several requests at once: all that began are answered. */
const lastOfEachConnection = (running: ReadonlySet<ServerResponse>): Iterable<ServerResponse> =>
  new Map([...running].map((response) => [response.req.socket, response])).values();

/**
 * Returns right after a turn of the event loop that found the kernel's queue of new connections empty: closing the
 * listener resets those that are in it. A connection that arrives between that turn's look and the close, some tens of
 * microseconds, is still reset, and so is one whose handshake is under way then: a process cannot prevent either.
 */
const untilBacklogIsEmpty = async (server: Server): Promise<void> => {
  let arrivals = 0;
  const count = (): void => {
    arrivals += 1;
  };
  server.on('connection', count).on('drop', count);
  const startedAt = performance.now();
  for (let isOver = false; !isOver;) {
    const beforeQuiet = arrivals;
    // Not by turns alone: the system interrupts a process that does not rest at any point, and clients run exactly then.
    await sleep(BACKLOG_QUIET_MS);
    // Timers run before sockets are read, and immediates right after it.
    const beforeTurn = arrivals;
    const turnAt = performance.now();
    await setImmediate();
    const now = performance.now();
    const isEmpty = arrivals === beforeTurn && now - turnAt < SHORT_TURN_MS;
    const waitedMs = now - startedAt;
    isOver =
      (isEmpty && (arrivals === beforeQuiet || waitedMs >= BACKLOG_WAIT_MS_MAX)) ||
      waitedMs >= 2 * BACKLOG_WAIT_MS_MAX;
  }
  server.off('connection', count).off('drop', count);
};

/**
 * Closes the listener and nothing else: `close` of an HTTP server destroys idle connections, too, and resets those
 * whose next request has arrived but was not read yet.
 * @returns a promise of the end of the last connection
 */
const closeListener = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });

/** Every connection is answered once more; idle ones close when no request has come for a while. */
const endConnections = async (
  server: Server,
  closed: Promise<void>,
  begun: () => number,
  log: Logger,
): Promise<void> => {
  const over = new AbortController();
  const isClosed = closed.then(() => over.abort());
  const startedAt = performance.now();
  while (!over.signal.aborted) {
    const before = begun();
    await sleep(QUIET_MS, over.signal);
    // After a stall timers run before sockets are read.
    await setImmediate();
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= DRAIN_MS_MAX) {
      log.warn('requests were still running at the end of the drain time and are cut');
      server.closeAllConnections();
      break;
    }
    if (begun() === before || waitedMs >= QUIET_WAIT_MS_MAX) server.closeIdleConnections();
  }
  await isClosed;
  // Ends the search for slow clients, which runs until here.
  server.close();
};
