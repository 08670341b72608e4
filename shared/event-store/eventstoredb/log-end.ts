import { BACKWARDS, END, type AllStreamResolvedEvent } from '@eventstore/db-client';
import { comparePositions, START, type Position } from '../event-store.ts';
import { callRead } from './call-reads.ts';
import type { Connection } from './connection.ts';
import { positionOf } from './log-reader.ts';
import { collect } from './read-events.ts';

/** Where the log ends. */
export interface LogEnd {
  /** Of the last event in a stream that is not one of the server's own; `START` without one. */
  readonly head: Position;
  /** Of the last event of any kind. */
  readonly end: Position;
}

export interface LogEndReader {
  /** As it was last read or heard of. */
  readonly known: LogEnd;
  /** The log was seen to reach `position`. @param isOwn an event of this service is there */
  reaches(position: Position, isOwn?: boolean): void;
  /** @throws EventStoreUnavailableError */
  read(): Promise<LogEnd>;
}

/**
 * How far back the last event is looked for, in steps. Behind more events of the server's own than this the
 * oldest of them counts as the head: no event is after it, and subscriptions get there too.
 */
const SCANS = [1, 32, 1_000];
const EMPTY: LogEnd = { head: START, end: START };

/** The server's streams all start so; subscriptions leave them out with the same rule. */
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
