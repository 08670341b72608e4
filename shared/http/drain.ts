import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { sleep } from '../async/backoff.ts';
import type { Logger } from 'pino';
import { isAfterLastAnswer, makeLast } from './last-answer.ts';

const BACKLOG_QUIET_MS = 20;
const BACKLOG_WAIT_MS_MAX = 250;
/** After a longer iteration of the event loop, clients had time to connect. */
const SHORT_TURN_MS = 1;
const QUIET_MS = 100;
const QUIET_WAIT_MS_MAX = 2_000;
const DRAIN_MS_MAX = 10_000;

type Exchange = readonly [request: IncomingMessage, response: ServerResponse];
type Serve = (...exchange: Exchange) => void;

export interface Drain {
  readonly serve: Serve;
  /** @param delayMs how long the listener stays open, so that a load balancer can notice */
  end(server: Server, delayMs: number): Promise<void>;
}

export const createDrain = (serve: Serve, log: Logger): Drain => {
  const running = new Set<ServerResponse>();
  let isEnding = false;
  let begun = 0;
  let held: Exchange[] | undefined;
  return {
    serve: (request, response) => {
      if (isAfterLastAnswer(request)) return;
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
      // Clients that wait for an answer open no new connections, so the backlog drains.
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

/** A client may have pipelined several requests: all that have begun are answered. */
const lastOfEachConnection = (running: ReadonlySet<ServerResponse>): Iterable<ServerResponse> =>
  new Map([...running].map((response) => [response.req.socket, response])).values();

// Closing the listener resets connections in the kernel's queue: wait for an event-loop iteration that found
// it empty.
const untilBacklogIsEmpty = async (server: Server): Promise<void> => {
  let arrivals = 0;
  const count = (): void => {
    arrivals += 1;
  };
  server.on('connection', count).on('drop', count);
  const startedAt = performance.now();
  for (let isOver = false; !isOver;) {
    const beforeQuiet = arrivals;
    // Without a rest the system would interrupt the process at any point, and clients run exactly then.
    await sleep(BACKLOG_QUIET_MS);
    // Timers run before sockets are read, immediates right after.
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

// `close` of an HTTP server also resets idle connections whose next request has arrived but was not read.
const closeListener = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });

/** Answers one more request on every connection; idle ones close after `QUIET_MS` without requests. */
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
    // After a stall, timers run before sockets are read.
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
  // Stops Node's checks for slow clients, which run until here.
  server.close();
};
