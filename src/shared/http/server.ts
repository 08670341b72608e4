import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import { sleep } from '../backoff.ts';
import type { Logger } from '../log.ts';
import { answerBrokenRequests } from './broken-request.ts';
import { isBehindLast, makeLast } from './last-answer.ts';

export interface RunningServer {
  readonly port: number;
  /**
   * Ends without resetting anybody: first every answer says `Connection: close`, so that
   * keep-alive clients leave by themselves; then the listener closes and idle connections with it.
   * Bounded: whatever is left after `DRAIN_MS_MAX` is cut.
   */
  drain(): Promise<void>;
}

const DRAIN_DELAY_MS = 500;
/** Requests still came after the delay: the server, or its clients, had no time to get to them. */
const QUIET_MS = 100;
const QUIET_WAIT_MS_MAX = 2_000;
const DRAIN_MS_MAX = 10_000;

/** Starts to listen. Slow clients are cut: 8 s for the headers, 60 s for the whole request. */
export const startServer = async (
  app: Express,
  { host, port }: { readonly host: string; readonly port: number },
  log: Logger,
): Promise<RunningServer> => {
  const running = new Set<ServerResponse>();
  let draining = false;
  let begun = 0;
  const server = createServer(
    {
      headersTimeout: 8_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 1_000,
      // `guard.ts` asks for it, and answers in the envelope.
      requireHostHeader: false,
    },
    (request, response) => {
      if (isBehindLast(request)) return;
      begun += 1;
      if (draining) makeLast(response);
      else trackUntilClosed(running, response);
      app(request, response);
    },
  );
  // Node drops what comes after the 2,000th header, and with it perhaps a second Host; 16 KiB bound them too.
  server.maxHeadersCount = 0;
  answerBrokenRequests(server, log);
  // `body.ts` answers `Expect: 100-continue`; other expectations are ignored (RFC 9110, 10.1.1).
  const serve = (request: IncomingMessage, response: ServerResponse): boolean =>
    server.emit('request', request, response);
  server.on('checkContinue', serve).on('checkExpectation', serve);
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    drain: async () => {
      draining = true;
      for (const response of lastOfEachConnection(running)) {
        if (!response.headersSent) makeLast(response);
      }
      await sleep(DRAIN_DELAY_MS);
      await untilQuiet(() => begun);
      await close(server, log);
    },
  };
};

/**
 * A request that has arrived but was not read yet looks like an idle connection, and closing that resets its
 * client. So nothing is closed before a while has passed without a request.
 */
const untilQuiet = async (begun: () => number): Promise<void> => {
  const startedAt = performance.now();
  for (let before = -1; before !== begun() && performance.now() - startedAt < QUIET_WAIT_MS_MAX;) {
    before = begun();
    await sleep(QUIET_MS);
    // After a stall timers run before sockets are read.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
};

const trackUntilClosed = (running: Set<ServerResponse>, response: ServerResponse): void => {
  running.add(response);
  response.once('close', () => running.delete(response));
};

/** A client may have sent several requests at once: all that began are answered. */
const lastOfEachConnection = (running: ReadonlySet<ServerResponse>): Iterable<ServerResponse> =>
  new Map([...running].map((response) => [response.req.socket, response])).values();

/** The address is taken, not this machine's, or not this user's to take; the message says what to set. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = ({ code = 'unknown' }: NodeJS.ErrnoException): void =>
      reject(
        new ListenError(`Cannot listen on ${host} port ${port} (${code}). Set HOST or PORT to another.`),
      );
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });

const close = async (server: Server, log: Logger): Promise<void> => {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const late = setTimeout(() => {
    log.warn('requests were still running at the end of the drain time and are cut');
    server.closeAllConnections();
  }, DRAIN_MS_MAX);
  await closed;
  clearTimeout(late);
};
