import { BACKWARDS, END, type AllStreamResolvedEvent } from '@eventstore/db-client';
import { comparePositions, START, type Position } from '../event-store.ts';
import { callRead } from './call-reads.ts';
import type { Connection } from './connection.ts';
import { positionOf } from './log-reader.ts';
import { collect } from './read-events.ts';

export interface LogEnd {
  /** Does not count system streams. */
  readonly head: Position;
  readonly end: Position;
}

export interface LogEndReader {
  readonly known: LogEnd;
  /** @param isOwn this service's event is at the position */
  reaches(position: Position, isOwn?: boolean): void;
  /** @throws EventStoreUnavailableError */
  read(): Promise<LogEnd>;
}

/** If all these events are system events, the oldest counts as the head: no own event follows it. */
const SCANS = [1, 32, 1_000];
const EMPTY: LogEnd = { head: START, end: START };

/** Subscriptions exclude system streams by the same rule. */
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
