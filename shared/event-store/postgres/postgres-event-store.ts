import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { connectionConfig, requestTimeouts, type PostgresTimeouts } from '../../postgres/pool.ts';
import { appendLimits, encodeAppend } from '../append-request.ts';
import { parsePosition, printPosition } from '../dense-position.ts';
import type { AppendResult, EventStore } from '../event-store.ts';
import { followedDenseLog } from '../dense-log.ts';
import { warnOfFailedReads } from '../followed-log.ts';
import { createLogReach } from '../log-reach.ts';
import { createSharedTail } from '../shared-tail.ts';
import { subscribeToLog } from '../subscribe-to-log.ts';
import { createAppendConnection } from './append-connection.ts';
import { createAppendPump, type AppendTimeouts } from './append-pump.ts';
import { createLogListener } from './log-listener.ts';
import { createLogReader } from './read-log.ts';

export interface PostgresEventStoreOptions {
  readonly connectionString: string;
  /** For reads. Appends and `LISTEN` use `appendConnections` + 1 others, opened on first use. */
  readonly pool: Pool;
  readonly log: Logger;
  /** Default 2: one batch is written while the other is in transit. Only one transaction at a time writes. */
  readonly appendConnections?: number;
  /** Default: 5. */
  readonly announceEveryMs?: number;
  /** Streams of high-volume events, for which the account has a separate position. Default: none. */
  readonly hasOwnPositions?: (stream: string) => boolean;
  readonly timeouts?: PostgresTimeouts;
}

/** Queueing may take as long as opening a connection; 400 ms for a late answer. */
const appendTimeoutsOf = ({ connectMs, queryMs }: PostgresTimeouts): AppendTimeouts => ({
  queuedMs: connectMs,
  answerMs: queryMs + 400,
});

export interface PostgresEventStore extends EventStore {
  readonly appendsPending: number;
  /** False while notifications are unavailable and the store polls once a second. */
  readonly listening: boolean;
}

/** Dense positions in commit order, group commit (docs/design/records/0001-dense-log.md). */
export const createPostgresEventStore = (options: PostgresEventStoreOptions): PostgresEventStore => {
  const { pool, log, connectionString, appendConnections = 2, timeouts = requestTimeouts } = options;
  const { announceEveryMs = 5, hasOwnPositions = () => false } = options;
  const configOf = (applicationName: string) =>
    connectionConfig({ connectionString, applicationName, timeouts });
  const closing = new AbortController();
  const reach = createLogReach();
  const reader = createLogReader(pool);
  const listener = createLogListener(configOf('exchange-listen'), reach, announceEveryMs, log);
  const connections = Array.from({ length: appendConnections }, () =>
    createAppendConnection(configOf('exchange-append'), log),
  );
  const onAppended = ({ position }: AppendResult): void => {
    const last = parsePosition(position);
    reach.advance(last);
    listener.announce(last);
  };
  const pump = createAppendPump(connections, onAppended, appendTimeoutsOf(timeouts));
  const followed = followedDenseLog({ ...reader, reach, onReadFailed: warnOfFailedReads(log) });
  const tail = createSharedTail(followed);

  return {
    get appendsPending() {
      return pump.pending;
    },
    get listening() {
      return listener.listening;
    },
    appendBytesMax: appendLimits.appendBytesMax,
    append: async (stream, events, expected) =>
      pump.append({ ...encodeAppend(stream, events, expected), hasOwnPositions: hasOwnPositions(stream) }),
    readStream: (stream, range) => reader.readStream(stream, range),
    readAll: async ({ after, limit }) => (await reader.readPage(parsePosition(after), { limit })).events,
    subscribeToAll: (subscription) => {
      listener.listen();
      return subscribeToLog(followed, tail, {
        ...subscription,
        signal: AbortSignal.any([subscription.signal, closing.signal]),
      });
    },
    head: async () => printPosition(await reader.head()),
    distance: (from, to) => parsePosition(to) - parsePosition(from),
    distanceUnit: 'events',
    // The append itself updates the account's position in the same transaction.
    ensurePositionRecorded: async () => undefined,
    close: async () => {
      closing.abort();
      await pump.close();
      await listener.close();
    },
  };
};
