import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Logger } from 'pino';
import { answerBrokenRequests } from './broken-request.ts';
import { createDrain } from './drain.ts';
import { messagesOf } from './express-messages.ts';
import type { Pace } from './long-bodies.ts';
import type { HeaderLines } from './security-headers.ts';

export interface RunningServer {
  readonly port: number;
  /**
   * Ends without resetting a connection that was accepted: from now on every answer says `Connection: close`; after
   * `ServerOptions.drainDelayMs` the listener closes; idle connections close when no request has come for a while.
   * Requests that still run 10 s after the listener has closed are cut.
   */
  drain(): Promise<void>;
}

/** Slow clients are looked for this often. */
const CHECK_MS = 1_000;

/** How long a client may take, ms. */
export interface ClientTimeouts {
  /** From the connection, or the end of the last request, to the end of the headers. */
  readonly headersMs: number;
  /** To the end of the body. */
  readonly requestMs: number;
  /** Without a byte in either direction while a request is under way: a body not sent, an answer not read. */
  readonly silenceMs: number;
  /** Of a body that may take longer than `requestMs` (`IncomingBytes.read`): in that time, and from then on. */
  readonly pace: Pace;
}

const clientTimeouts: ClientTimeouts = {
  headersMs: 8_000,
  requestMs: 60_000,
  silenceMs: 30_000,
  // 64 kbit/s. Whoever wants to hold ten thousand connections needs a line of 655 Mbit/s for it.
  pace: { bytesPerSecondMin: 8 * 1024, spanMs: 30_000 },
};

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Connections at most; a further one is closed at once. */
  readonly connectionsMax?: number;
  /** On answers to what is no request. */
  readonly headers?: HeaderLines;
  readonly timeouts?: ClientTimeouts;
  /** How long the listener stays open once `drain` was called, ms. Default 0. */
  readonly drainDelayMs?: number;
}

/**
 * Starts to listen. Slow clients are cut: 8 s for the headers, 60 s for the whole request, 30 s of silence. A body of
 * bytes may take as long as its route lets it, if it keeps its pace after the 60 s.
 */
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
      // `guard.ts` asks for it, and answers in the envelope.
      requireHostHeader: false,
    },
    drain.serve,
  );
  // Node drops what comes after the 2,000th header, and with it perhaps a second Host; 16 KiB bound them too.
  server.maxHeadersCount = 0;
  // Whoever does not read their answer would otherwise keep the connection for ever. A stream that may be silent
  // for longer sets its own with `response.setTimeout`.
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

/**
 * Node lets targets through that Express cannot read: it would pass over all that we have put into it and answer a page
 * of its own. As `*`, which is no path, such a one is answered as any path that there is not.
 */
const isReadable = (target = ''): boolean =>
  target.startsWith('/') || (/^https?:\/\//i.test(target) && URL.canParse(target));

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
