import { isIP } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import type { CheckReadiness } from '../async/readiness.ts';
import { LogLevelName, type LogLevel } from './log-level.ts';
import { profileFileEndings, profileKinds, takeProfile } from './profile.ts';
import { NoBoardError, type QueueBoard } from './queue-board.ts';

export interface OperatorAppOptions {
  readonly registry: Registry;
  readonly logLevel: LogLevel;
  readonly readiness: CheckReadiness;
  /** Opens the board of the queues of this process, once. Undefined: it runs no jobs. */
  readonly board: (() => Promise<QueueBoard>) | undefined;
  /** Any `Host` is served: the operator chose an address that is not loopback. */
  readonly anyHost: boolean;
  readonly log: Logger;
}

export const BOARD_PATH = '/queues';

const INDEX = `GET  /metrics                      metrics in the Prometheus text format
GET  /ready                        whether each part of this process works, with details
GET  ${BOARD_PATH}                       the job queues of this process; data of jobs is hidden
POST /profile/cpu?seconds=10       a CPU profile of this process (.cpuprofile)
POST /profile/heap?seconds=10      which functions allocate its memory (.heapprofile)
GET  /log-level                    the level of its log
PUT  /log-level                    {"level":"debug","seconds":900} changes it for a time
`;

const Profile = z.object({
  kind: z.enum(profileKinds),
  seconds: z.coerce.number().min(0.1).max(300).default(10),
});
const LogLevelChange = z.strictObject({
  level: LogLevelName,
  seconds: z.int().min(1).max(86_400).default(900),
});

/** What operators ask of one process. It needs no credential: its address must be out of reach for clients. */
export const createOperatorApp = (options: OperatorAppOptions): Express => {
  const { registry, logLevel, readiness, board, log } = options;
  const app = express().disable('x-powered-by').disable('etag');
  app.use(refuseOtherSites(options.anyHost));
  app.get('/', (_request, response) => {
    response.type('text/plain').send(INDEX);
  });
  app.get('/metrics', async (_request, response) => {
    response.set('Content-Type', registry.contentType).send(await registry.metrics());
  });
  app.get('/ready', async (_request, response) => {
    const { ready, parts } = await readiness();
    const status = ready ? 'ready' : 'not_ready';
    response.status(ready ? 200 : 503).json({
      status,
      parts: Object.fromEntries(
        Object.entries(parts).map(([name, part]) => [name, { ready: part.ready, detail: part.detail }]),
      ),
    });
  });
  app
    .route('/log-level')
    .get((_request, response) => {
      response.json(logLevel.state());
    })
    .put(express.json({ type: () => true }), (request, response) => {
      const { level, seconds } = LogLevelChange.parse(request.body);
      const state = logLevel.change(level, seconds);
      // On the level `warn`, so that most levels show who changed them, and when.
      log.warn({ level, seconds }, 'the log level was changed');
      response.json(state);
    });
  app.post('/profile/:kind', profileHandler(log));
  if (board !== undefined) app.use(BOARD_PATH, boardHandler(board));
  app.use((_request, response) => {
    response.status(404).type('text/plain').send(INDEX);
  });
  app.use(answerError(log));
  return app;
};

/** V8 takes one profile at a time. */
const profileHandler = (log: Logger): RequestHandler => {
  let isTaken = false;
  return async (request, response) => {
    const { kind, seconds } = Profile.parse({ ...request.query, ...request.params });
    if (isTaken) {
      response.status(409).json({ error: 'Another profile is being taken.' });
      return;
    }
    isTaken = true;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      log.warn({ kind, seconds }, 'a profile is taken');
      const profile = await takeProfile(kind, seconds, gone.signal);
      const file = `exchange-${process.pid}.${profileFileEndings[kind]}`;
      response.attachment(file).type('application/json').send(profile);
    } finally {
      isTaken = false;
    }
  };
};

/** Loaded by the first request. Its own read-only mode does not cover every method of it. */
const boardHandler = (open: () => Promise<QueueBoard>): RequestHandler => {
  let opening: Promise<QueueBoard> | undefined;
  return async (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.status(405).set('Allow', 'GET, HEAD').json({ error: 'The board changes nothing.' });
      return;
    }
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    (await opening).serve(request, response, next);
  };
};

/**
 * A web page that the operator has open must not reach this address: neither by a request to loopback, nor by its
 * own name that resolves to loopback (DNS rebinding).
 */
const refuseOtherSites =
  (anyHost: boolean): RequestHandler =>
  (request, response, next) => {
    const { host = '', 'sec-fetch-site': site } = request.headers;
    const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
    const isNamed = name !== 'localhost' && isIP(name) === 0;
    const isOtherSite = site !== undefined && site !== 'same-origin' && site !== 'none';
    if ((anyHost || !isNamed) && !isOtherSite) next();
    else response.status(403).json({ error: 'Call it by its address: other sites are refused.' });
  };

const answerError =
  (log: Logger): ErrorRequestHandler =>
  (error: unknown, _request, response, next) => {
    if (response.headersSent) next(error);
    else if (error instanceof z.ZodError) response.status(400).json({ error: z.prettifyError(error) });
    else if (error instanceof NoBoardError) response.status(501).json({ error: error.message });
    else if (isClientError(error)) response.status(error.status).json({ error: error.message });
    else {
      log.error({ err: error }, 'a request of an operator failed');
      response.status(500).json({ error: 'It failed: the log says why.' });
    }
  };

/** Errors of Express' own parsers. */
const isClientError = (error: unknown): error is Error & { readonly status: number } =>
  error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500;
