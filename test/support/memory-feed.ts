import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { LAST_IDX, type FeedPlace } from '../../query/notifications/cursor.ts';
import { notificationFrame } from '../../query/realtime/frames.ts';
import { isAfter, type LiveEntry, type LiveFeed } from '../../query/realtime/live-feed.ts';

interface Row {
  readonly customerId: number;
  readonly place: FeedPlace;
  readonly kind: string;
}

export interface MemoryFeed extends LiveFeed {
  readonly rows: Row[];
  readonly placeOf: (cursor: string) => FeedPlace;
  append(customerId: number, kind: string): Row;
  /** Statements by kind. */
  readonly asked: Record<'end' | 'news' | 'page' | 'isAccessKnown', number>;
  /** Rows that the table contains so far: fewer than all while the read model is rebuilt. */
  rebuiltTo: number;
  /** Whether the tables of credentials are behind the feed. */
  isAccessBehind: boolean;
}

const positionOf = (n: number): string => String(n).padStart(10, '0');

/** The feed in memory: each call takes some turns of the event loop, and sees the rows of its last. */
export const createMemoryFeed = (turns: () => number = () => 0): MemoryFeed => {
  const rows: Row[] = [];
  const at = new Date().toISOString();
  const asked = { end: 0, news: 0, page: 0, isAccessKnown: 0 };
  const answered = async <Answer>(what: keyof typeof asked, answer: () => Answer): Promise<Answer> => {
    asked[what] += 1;
    for (let left = turns(); left > 0; left -= 1) await setImmediate();
    const found = answer();
    for (let left = turns(); left > 0; left -= 1) await setImmediate();
    return found;
  };
  const placeOf = (position: number): FeedPlace => ({ position: positionOf(position), idx: LAST_IDX, at });
  const reached = (): FeedPlace => placeOf(Math.min(rows.length, feed.rebuiltTo));
  const rowsAfter = (customerId: number, after: FeedPlace): readonly Row[] =>
    rows.slice(0, feed.rebuiltTo).filter((row) => row.customerId === customerId && isAfter(row.place, after));
  const cursorOf = (customerId: number, place: FeedPlace): string =>
    Buffer.from(JSON.stringify({ customerId, ...place })).toString('base64url');
  const feed: MemoryFeed = {
    rows,
    asked,
    rebuiltTo: Infinity,
    isAccessBehind: false,
    placeOf: (cursor) => JSON.parse(Buffer.from(cursor, 'base64url').toString()) as FeedPlace,
    append: (customerId, kind) => {
      const row = { customerId, kind, place: { position: positionOf(rows.length + 1), idx: 0, at } };
      rows.push(row);
      return row;
    },
    end: () => answered('end', () => placeOf(rows.length)),
    news: (accounts) =>
      answered('news', () => ({
        end: reached(),
        customerIds: accounts
          .filter(({ customerId, place }) => rowsAfter(customerId, place).length > 0)
          .map(({ customerId }) => customerId),
      })),
    page: (customerId, after, limit) =>
      answered('page', () => {
        const found = rowsAfter(customerId, after);
        const hasMore = found.length > limit;
        const entries = found.slice(0, limit).map((row) => entryOf(row, cursorOf));
        const next = isAfter(after, reached()) ? after : reached();
        return { entries, hasMore, next: hasMore ? (entries.at(-1)?.place ?? next) : next };
      }),
    cursorOf: async (customerId, place) => {
      for (let left = turns(); left > 0; left -= 1) await setImmediate();
      return cursorOf(customerId, place);
    },
    countedConversions: () => Promise.resolve(new Map()),
    isAccessKnown: () => answered('isAccessKnown', () => !feed.isAccessBehind),
  };
  return feed;
};

const entryOf = (
  { customerId, place, kind }: Row,
  cursorOf: (customerId: number, place: FeedPlace) => string,
): LiveEntry => ({
  place,
  kind,
  advertiserId: undefined,
  path: undefined,
  changesAccess: kind === 'access.changed',
  frame: notificationFrame(cursorOf(customerId, place), kind, { n: place.position }),
});

/** The response of a client that can stop to read. */
export class TestSink extends Writable {
  text = '';
  #isReading = true;
  #waiting: { readonly text: string; readonly done: () => void } | undefined;

  constructor() {
    super({ highWaterMark: 512, decodeStrings: false });
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    if (this.#isReading) {
      this.text += chunk;
      done();
    } else this.#waiting = { text: chunk, done };
  }

  stopReading(): void {
    this.#isReading = false;
  }

  goOn(): void {
    this.#isReading = true;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) return;
    this.text += waiting.text;
    waiting.done();
  }

  /** The connection breaks; a part of the frames on their way arrives. */
  cut(): void {
    this.text += this.#waiting?.text.slice(0, this.#waiting.text.length / 2) ?? '';
    this.#waiting = undefined;
    this.destroy();
  }
}
