import { BACKWARDS, END, type AllStreamResolvedEvent } from '@eventstore/db-client';
import { comparePositions, START, type Position } from '../event-store.ts';
import { callRead } from './call-reads.ts';
import type { Connection } from './connection.ts';
import { positionOf } from './log-reader.ts';
import { collect } from './read-events.ts';

export interface LogEnd {
  /** Position of the last event in a stream that is not a system stream; `START` without one. */
  readonly head: Position;
  readonly end: Position;
}

export interface LogEndReader {
  /** The last known end. */
  readonly known: LogEnd;
  /** Records that the log reaches `position`. @param isOwn an event of this service is at this position */
  reaches(position: Position, isOwn?: boolean): void;
  /** @throws EventStoreUnavailableError */
  read(): Promise<LogEnd>;
}

/**
 * Numbers of events that are searched backwards, step by step, for the last event. If all of them are system events,
 * the oldest of them counts as the head: no own event follows it, and subscriptions reach it, too.
 */
const SCANS = [1, 32, 1_000];
const EMPTY: LogEnd = { head: START, end: START };

/** Prefix of the server's system streams. Subscriptions exclude them by the same rule. */
const SYSTEM_STREAM = '$';

export const createLogEndReader = (connection: Connection): LogEndReader => {
  let known = EMPTY;

  const readBack = (maxCount: number): Promise<readonly AllStreamResolvedEvent[]> =>
    callRead(connection, (client, withinMs) =>
      collect(
        client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount, requiresLeader: true }),
        withinMs,
      ),
    );

  return {
    get known() {
      return known;
    },
    reaches: (position, isOwn = false) => {
      if (comparePositions(position, known.end) > 0) known = { ...known, end: position };
      if (isOwn && comparePositions(position, known.head) > 0) known = { ...known, head: position };
    },
    read: async () => {
      for (const count of SCANS) {
        const tail = await readBack(count);
        const own = tail.find((event) => !isSystem(event));
        const [last, oldest] = [tail[0], tail.at(-1)];
        if (last === undefined || oldest === undefined) return (known = EMPTY);
        const end = positionOf(last);
        if (own !== undefined) return (known = { head: positionOf(own), end });
        if (tail.length < count) return (known = { head: START, end });
        known = { head: positionOf(oldest), end };
      }
      return known;
    },
  };
};

const isSystem = ({ event, link }: AllStreamResolvedEvent): boolean =>
  (link ?? event)?.streamId.startsWith(SYSTEM_STREAM) ?? true;
