import {
  BACKWARDS,
  END,
  FORWARDS,
  type START as LOG_START,
  type AllStreamResolvedEvent,
  type ResolvedEvent,
} from '@eventstore/db-client';
import {
  comparePositions,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  type RecordedEvent,
} from '../event-store.ts';
import { callRead, READ_MS_MAX } from './call-reads.ts';
import type { Connection } from './connection.ts';
import { isStreamNotFound } from './failure.ts';
import { parsePosition, printPosition } from './log-position.ts';
import { collect } from './read-events.ts';
import { toRecordedEvent } from './stored-event.ts';

/** Reads through the leader, so that nothing which was answered is missing. Nothing here writes. */
export interface LogReader {
  /** @throws EventStoreUnavailableError */
  readAll(options: ReadAllOptions): Promise<readonly RecordedEvent[]>;
  /** @throws EventStoreUnavailableError */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;
  /** The event of a stream at a revision, as stored. @throws EventStoreUnavailableError */
  readStored(stream: string, revision: number): Promise<ResolvedEvent | undefined>;
  /** The last events of a stream as stored, newest first. @throws EventStoreUnavailableError */
  readTail(stream: string, count: number): Promise<readonly ResolvedEvent[]>;
}

/** Pages of a stream grow from the first to the second: most streams are short. */
const STREAM_PAGE = { first: 32, max: 256 };
/** Pages of the whole log, of whatever kind the events are. */
const LOG_PAGE_MAX = 1_000;

export const createLogReader = (connection: Connection): LogReader => {
  const readPage = async (
    stream: string,
    options: { fromRevision: bigint | typeof LOG_START | typeof END; maxCount: number; backward: boolean },
  ): Promise<readonly ResolvedEvent[]> => {
    const { backward, ...page } = options;
    const direction = backward ? BACKWARDS : FORWARDS;
    try {
      return await callRead(connection, (client, withinMs) =>
        collect(client.readStream(stream, { ...page, direction, requiresLeader: true }), withinMs),
      );
    } catch (error) {
      if (isStreamNotFound(error)) return [];
      throw error;
    }
  };

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncGenerator<RecordedEvent> {
    const backward = options.direction === 'backward';
    let from = options.from ?? (backward ? Infinity : 0);
    let left = options.limit ?? Infinity;
    for (let size = STREAM_PAGE.first; left > 0 && from >= 0; size = Math.min(STREAM_PAGE.max, size * 2)) {
      const maxCount = Math.min(left, size);
      const fromRevision = from === Infinity ? END : BigInt(from);
      const page = await readPage(stream, { fromRevision, maxCount, backward });
      for (const stored of page) {
        const event = toRecordedEvent(stored);
        if (event !== undefined) yield event;
      }
      const last = page.at(-1)?.event;
      if (last === undefined || page.length < maxCount) return;
      left -= page.length;
      from = Number(last.revision) + (backward ? -1 : 1);
    }
  }

  const readAll: LogReader['readAll'] = async ({ after, limit }) => {
    const events: RecordedEvent[] = [];
    let last = after;
    while (events.length < limit) {
      // One more: the page begins with the event at the position itself.
      const maxCount = Math.min(limit - events.length, LOG_PAGE_MAX) + 1;
      const page = await readLogFrom(connection, last, maxCount);
      for (const stored of page) {
        const event = comparePositions(positionOf(stored), last) > 0 ? toRecordedEvent(stored) : undefined;
        if (event !== undefined && events.length < limit) events.push(event);
      }
      if (page.length < maxCount) break;
      last = positionOf(page.at(-1) as AllStreamResolvedEvent);
    }
    return events;
  };

  return {
    readAll,
    readStream,
    readStored: async (stream, revision) =>
      (await readPage(stream, { fromRevision: BigInt(revision), maxCount: 1, backward: false }))[0],
    readTail: (stream, count) => readPage(stream, { fromRevision: END, maxCount: count, backward: true }),
  };
};

/** Everything in the log from a position on, inclusive: events of this service and all others. */
const readLogFrom = (
  connection: Connection,
  from: Position,
  maxCount: number,
): Promise<readonly AllStreamResolvedEvent[]> => {
  const fromPosition = parsePosition(from);
  return callRead(connection, (client, withinMs) =>
    collect(
      client.readAll({
        fromPosition,
        maxCount,
        direction: FORWARDS,
        requiresLeader: true,
      }),
      Math.min(withinMs, READ_MS_MAX),
    ),
  );
};

/** The place of whatever stands there, event or link. */
export const positionOf = ({ event, link }: AllStreamResolvedEvent): Position =>
  printPosition(link?.position ?? event?.position);
