import type { Logger } from 'pino';
import { encodeAppend } from '../append-request.ts';
import { comparePositions, EventStoreUnavailableError, isWanted, type EventStore } from '../event-store.ts';
import { warnOfFailedReads, type FollowedLog } from '../followed-log.ts';
import { createSharedTail } from '../shared-tail.ts';
import { subscribeToLog } from '../subscribe-to-log.ts';
import { appendProblem } from './append-problem.ts';
import { createAppender } from './appender.ts';
import type { CallLimits } from './call-limits.ts';
import type { OnAppended } from './confirm-append.ts';
import { createConnection } from './connection.ts';
import { followEventStoreDb } from './follow-eventstoredb.ts';
import { createLogEndReader } from './log-end.ts';
import { bytesBetween } from './log-position.ts';
import { createReadLogPage, shareLogPages } from './log-pages.ts';
import { createLogReader } from './log-reader.ts';

export interface EventStoreDbOptions {
  /** Must pass `connectionStringProblem`. May contain a password, so never log it. */
  readonly connectionString: string;
  readonly log: Logger;
  /** Must never move a position backwards. If it fails, the caller receives an unknown outcome. */
  readonly recordPosition: OnAppended;
  readonly limits?: CallLimits;
}

export interface EventStoreDbEventStore extends EventStore {
  readonly appendsPending: number;
  readonly clientsReplaced: number;
  readonly subscriptionsLost: number;
  /** For operators. Writes nothing. */
  appendProblem(): Promise<string | undefined>;
}

/** The default of all server versions (1 MiB up to version 25.0), minus the server's own additions. */
const APPEND_BYTES_MAX = 960 * 1024;

/** See docs/design/eventstoredb.md. */
export const createEventStoreDbEventStore = (options: EventStoreDbOptions): EventStoreDbEventStore => {
  const { log, connectionString, recordPosition, limits } = options;
  const closing = new AbortController();
  const connection = createConnection(connectionString, log, limits);
  const reader = createLogReader(connection);
  const logEnd = createLogEndReader(connection);
  const appender = createAppender(connection, reader, logEnd, recordPosition);
  let subscriptionsLost = 0;
  const source = {
    connection,
    log,
    logEnd,
    onLost: () => {
      subscriptionsLost += 1;
    },
  };
  const readPage = shareLogPages(createReadLogPage(connection, logEnd));
  const warn = warnOfFailedReads(log);
  const followed: FollowedLog = {
    onReadFailed: (error, failures) => {
      if (!connection.logsFailure(error)) warn(error, failures);
    },
    readPage: async ({ after, limit, ...filter }) => {
      const page = await readPage(after, limit);
      return { ...page, events: page.events.filter((event) => isWanted(filter, event)) };
    },
    follow: (after, signal) => followEventStoreDb(source, after, signal),
  };
  const tail = createSharedTail(followed);

  return {
    get appendsPending() {
      return appender.pending;
    },
    get clientsReplaced() {
      return connection.rebuilds;
    },
    get subscriptionsLost() {
      return subscriptionsLost;
    },
    appendProblem: () => appendProblem(connection),
    appendBytesMax: APPEND_BYTES_MAX,
    append: async (stream, events, expected, more) => {
      const request = encodeAppend(stream, events, expected);
      if (closing.signal.aborted) throw new EventStoreUnavailableError('the event store is closed');
      return appender.append(request, more);
    },
    readStream: (stream, range) => reader.readStream(stream, range),
    readAll: (range) => reader.readAll(range),
    subscribeToAll: (subscription) =>
      subscribeToLog(followed, tail, {
        ...subscription,
        signal: AbortSignal.any([subscription.signal, closing.signal]),
      }),
    head: async () => (await logEnd.read()).head,
    distance: (from, to) => {
      const bytes = bytesBetween(from, to);
      // A position after the last event can belong to a system event of the server, if the log reaches it.
      return bytes < 0 && comparePositions(from, logEnd.known.end) <= 0 ? 0 : bytes;
    },
    distanceUnit: 'bytes',
    ensurePositionRecorded: recordPosition,
    close: async () => {
      closing.abort();
      while (appender.pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await connection.close();
    },
  };
};
