import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Logger } from 'pino';
import { answerBrokenRequests } from './broken-request.ts';
import { createDrain } from './drain.ts';
import { messagesOf } from './express-messages.ts';
import { listenErrorOf } from './listen-error.ts';
import type { Pace } from './long-bodies.ts';
import type { HeaderLines } from './security-headers.ts';

export interface RunningServer {
  readonly port: number;
  /** Resets no accepted connection. Requests that run 10 s after the listener closed are cut. */
  drain(): Promise<void>;
}

const CHECK_MS = 1_000;

export interface ClientTimeouts {
  /** From the connection, or the end of the last request. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** In both directions during a request. */
  readonly silenceMs: number;
  /** See `IncomingBytes.read`. */
  readonly pace: Pace;
}

const clientTimeouts: ClientTimeouts = {
  headersMs: 8_000,
  requestMs: 60_000,
  silenceMs: 30_000,
  // 64 kbit/s: an attacker who holds 10,000 connections needs 655 Mbit/s.
  pace: { bytesPerSecondMin: 8 * 1024, spanMs: 30_000 },
};

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly connectionsMax?: number;
  readonly headers?: HeaderLines;
  readonly timeouts?: ClientTimeouts;
  /** Default 0. */
  readonly drainDelayMs?: number;
}

/** @throws ListenError */
export const startServer = async (
  app: Express,
  { host, port, connectionsMax, headers = [], timeouts = clientTimeouts, drainDelayMs = 0 }: ServerOptions,
  log: Logger,
): Promise<RunningServer> => {
  const drain = createDrain((request, response) => {
    if (!isReadable(request.url)) request.url = '*';
    app(request, response);
  }, log);
  const server = createServer(
    {
      ...messagesOf(app),
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: CHECK_MS,
      requireHostHeader: false,
    },
    drain.serve,
  );
  // Otherwise Node drops headers after the 2,000th, perhaps a second Host. 16 KiB bound them, too.
  server.maxHeadersCount = 0;
  // Else a client that never reads its answer holds the connection forever.
  server.timeout = timeouts.silenceMs;
  if (connectionsMax !== undefined) server.maxConnections = connectionsMax;
  answerBrokenRequests(server, { log, headers, pace: timeouts.pace });
  // `body.ts` answers `Expect: 100-continue`; other expectations are ignored (RFC 9110, 10.1.1).
  const serve = (request: IncomingMessage, response: ServerResponse): boolean =>
    server.emit('request', request, response);
  server.on('checkContinue', serve).on('checkExpectation', serve);
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    drain: () => drain.end(server, drainDelayMs),
  };
};

/** For targets that Express cannot parse it would send its own error page. `*` matches no route. */
const isReadable = (target = ''): boolean =>
  target.startsWith('/') || (/^https?:\/\//i.test(target) && URL.canParse(target));

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(listenErrorOf(error, host, port));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
