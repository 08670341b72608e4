import {
  BACKWARDS,
  END,
  FORWARDS,
  START as LOG_START,
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
import { callRead } from './call-reads.ts';
import type { Connection } from './connection.ts';
import { isStreamNotFound } from './failure.ts';
import { bytesBetween, parsePosition, printPosition } from './log-position.ts';
import { collect } from './read-events.ts';
import { toRecordedEvent } from './stored-event.ts';

/** A follower may lack events of answered appends. @throws EventStoreUnavailableError */
export interface LogReader {
  readAll(options: ReadAllOptions): Promise<readonly RecordedEvent[]>;
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;
  readStored(stream: string, page: StoredPage): Promise<readonly ResolvedEvent[]>;
}

export interface StoredPage {
  readonly from?: number;
  readonly count: number;
  readonly direction?: 'forward' | 'backward';
}

/** Most streams are short. */
const STREAM_PAGE = { first: 128, max: 512 };
const START_OF_STREAM = { direction: FORWARDS, fromRevision: LOG_START } as const;
const END_OF_STREAM = { direction: BACKWARDS, fromRevision: END } as const;
const LOG_PAGE_MAX = 1_000;

export const createLogReader = (connection: Connection): LogReader => {
  const readStored: LogReader['readStored'] = async (stream, { from, count, direction = 'forward' }) => {
    const ends = direction === 'forward' ? START_OF_STREAM : END_OF_STREAM;
    const options = {
      ...ends,
      ...(from === undefined ? {} : { fromRevision: BigInt(from) }),
      maxCount: count,
      requiresLeader: true,
    };
    try {
      return await callRead(connection, (client, withinMs) =>
        collect(client.readStream(stream, options), withinMs),
      );
    } catch (error) {
      if (isStreamNotFound(error)) return [];
      throw error;
    }
  };

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncGenerator<RecordedEvent> {
    const { direction = 'forward' } = options;
    let { from } = options;
    let left = options.limit ?? Infinity;
    for (let size = STREAM_PAGE.first; left > 0; size = Math.min(STREAM_PAGE.max, size * 2)) {
      const count = Math.min(left, size);
      const page = await readStored(stream, { count, direction, ...(from !== undefined && { from }) });
      for (const stored of page) {
        const event = toRecordedEvent(stored);
        if (event !== undefined) yield event;
      }
      const last = page.at(-1)?.event;
      if (last === undefined || page.length < count) return;
      left -= page.length;
      from = Number(last.revision) + (direction === 'backward' ? -1 : 1);
      if (from < 0) return;
    }
  }

  const readAll: LogReader['readAll'] = async ({ after, limit }) => {
    const events: RecordedEvent[] = [];
    let last = after;
    while (events.length < limit) {
      // The page starts with the event at the position itself.
      const maxCount = Math.min(limit - events.length, LOG_PAGE_MAX) + 1;
      const page = await readLogFrom(connection, last, maxCount);
      for (const stored of page.events) {
        const event = comparePositions(positionOf(stored), last) > 0 ? toRecordedEvent(stored) : undefined;
        if (event !== undefined && events.length < limit) events.push(event);
      }
      if (page.isLast) break;
      last = positionOf(page.events.at(-1) as AllStreamResolvedEvent);
    }
    return events;
  };

  return {
    readAll,
    readStream,
    readStored,
  };
};

export interface StoredLogPage {
  readonly events: readonly AllStreamResolvedEvent[];
  readonly isLast: boolean;
}

/** Inclusive, with the events of all applications. */
export const readLogFrom = async (
  connection: Connection,
  from: Position,
  maxCount: number,
  bytesMax = Infinity,
): Promise<StoredLogPage> => {
  const fromPosition = parsePosition(from);
  let isCut = false;
  const events = await callRead(connection, (client, withinMs) => {
    let first: Position | undefined;
    isCut = false;
    return collect(
      client.readAll({ fromPosition, maxCount, direction: FORWARDS, requiresLeader: true }),
      withinMs,
      (event) => {
        const position = positionOf(event);
        first ??= position;
        isCut = bytesBetween(first, position) > bytesMax;
        return isCut;
      },
    );
  });
  return { events, isLast: !isCut && events.length < maxCount };
};

export const positionOf = ({ event, link }: AllStreamResolvedEvent): Position =>
  printPosition(link?.position ?? event?.position);
