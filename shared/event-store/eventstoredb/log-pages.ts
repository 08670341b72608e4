import { comparePositions, EventStoreUnavailableError, START, type Position } from '../event-store.ts';
import type { LogPiece } from '../followed-log.ts';
import { assertKnown, assertReaches } from './assert-log.ts';
import type { Connection } from './connection.ts';
import type { LogEndReader } from './log-end.ts';
import { bytesBetween } from './log-position.ts';
import { positionOf, readLogFrom } from './log-reader.ts';
import { toRecordedEvent } from './stored-event.ts';

export type ReadLogPage = (after: Position, limit: number) => Promise<LogPiece>;

const PAGE_BYTES_MAX = 16 * 1024 * 1024;

export const createReadLogPage =
  (connection: Connection, logEnd: LogEndReader): ReadLogPage =>
  async (after, limit) => {
    // The page starts with the event at the position itself.
    const count = after === START ? limit : limit + 1;
    const page = await readLogFrom(connection, after, count, PAGE_BYTES_MAX).catch((error: unknown) => {
      if (error instanceof EventStoreUnavailableError) assertKnown(after, error.cause);
      throw error;
    });
    if (page.events.length === 0 && after !== START) assertReaches(after, await logEnd.read());
    const behind = page.events
      .filter((event) => comparePositions(positionOf(event), after) > 0)
      .slice(0, limit);
    const last = behind.at(-1);
    const position = last === undefined ? after : positionOf(last);
    return {
      events: behind.map(toRecordedEvent).filter((event) => event !== undefined),
      position,
      caughtUp: page.isLast,
      bytes: bytesBetween(after, position),
    };
  };

const RECENT_MAX = 4;
const RECENT_MS = 500;

interface Reading {
  readonly page: Promise<LogPiece>;
  readonly number: number;
}

/**
 * A full page never changes. A page at the log's end only serves readers that asked before it was read: later
 * ones must see later appends.
 */
export const shareLogPages = (read: ReadLogPage): ReadLogPage => {
  const recent = new Map<string, Reading>();
  let readings = 0;

  const begin = (key: string, after: Position, limit: number): Promise<LogPiece> => {
    const reading = { page: read(after, limit), number: (readings += 1) };
    const forget = (): void => {
      if (recent.get(key) === reading) recent.delete(key);
    };
    recent.delete(key);
    recent.set(key, reading);
    const [oldest] = recent.keys();
    if (recent.size > RECENT_MAX && oldest !== undefined) recent.delete(oldest);
    reading.page.then(() => setTimeout(forget, RECENT_MS).unref(), forget);
    return reading.page;
  };

  return async (after, limit) => {
    const key = `${after} ${limit}`;
    const asked = readings;
    for (let other = recent.get(key); other !== undefined;) {
      const page = await other.page.catch(() => undefined);
      if (page !== undefined && (!page.caughtUp || other.number > asked)) return page;
      const next = recent.get(key);
      other = next === other ? undefined : next;
    }
    return begin(key, after, limit);
  };
};
