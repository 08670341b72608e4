import {
  categoryOf,
  comparePositions,
  type EventBatch,
  type Position,
  type RecordedEvent,
} from './event-store.ts';
import type { LogPiece } from './followed-log.ts';

export interface TailBounds {
  /** Events in the buffer; one more piece of the log may exceed it. */
  readonly eventsMax: number;
  /** The same in bytes. */
  readonly bytesMax: number;
}

/**
 * The last pieces of the log, without a gap: all pieces that some reader has not taken yet, and older ones as far as the
 * bounds allow, so that a reader that is slightly behind can join.
 */
export interface TailBuffer {
  /** Everything behind this position, up to `reached`, is held. */
  readonly from: Position;
  readonly reached: Position;
  /** The bounds are exceeded: nothing may be added until readers have taken some pieces. */
  readonly isOver: boolean;
  /** @param piece begins behind `reached`; an empty one only updates whether the log ended there */
  add(piece: LogPiece): void;
  /** Drops the oldest pieces while the bounds are exceeded, but none that lies behind `needed`. */
  trim(needed: Position): void;
  /** The position up to which pieces must be dropped to keep the bounds; `from` when none must be. */
  excess(): Position;
  /** Up to `limit` events of these categories behind `position`, which is not before `from`. */
  take(position: Position, limit: number, categories: readonly string[] | undefined): EventBatch;
}

interface Held extends LogPiece {
  /** Of each event. */
  readonly categories: readonly string[];
  readonly size: number;
}

export const createTailBuffer = (start: Position, { eventsMax, bytesMax }: TailBounds): TailBuffer => {
  let held: Held[] = [];
  let from = start;
  let caughtUp = true;
  let events = 0;
  let bytes = 0;
  const reached = (): Position => held.at(-1)?.position ?? from;
  const isOver = (): boolean => events > eventsMax || bytes > bytesMax;

  /** Index of the first piece with anything behind `position`. */
  const indexBehind = (position: Position): number => {
    let [low, high] = [0, held.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePositions((held[middle] as Held).position, position) > 0) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  return {
    get from() {
      return from;
    },
    get reached() {
      return reached();
    },
    get isOver() {
      return isOver();
    },
    add: (piece) => {
      ({ caughtUp } = piece);
      if (piece.position === reached()) return;
      const size = Math.max(1, piece.events.length);
      held.push({ ...piece, size, categories: piece.events.map(({ stream }) => categoryOf(stream)) });
      events += size;
      bytes += piece.bytes;
    },
    trim: (needed) => {
      let dropped = 0;
      for (const piece of held) {
        if (!isOver() || comparePositions(piece.position, needed) > 0) break;
        events -= piece.size;
        bytes -= piece.bytes;
        from = piece.position;
        dropped += 1;
      }
      if (dropped > 0) held = held.slice(dropped);
    },
    excess: () => {
      let [eventsLeft, bytesLeft, position] = [events, bytes, from];
      for (const piece of held) {
        if (eventsLeft <= eventsMax && bytesLeft <= bytesMax) break;
        eventsLeft -= piece.size;
        bytesLeft -= piece.bytes;
        ({ position } = piece);
      }
      return position;
    },
    take: (position, limit, categories) => {
      const taken = takeFrom(held.slice(indexBehind(position)), position, limit, categories);
      const { events: own, position: last, isAll } = taken;
      return { events: own, position: last, caughtUp: caughtUp && isAll };
    },
  };
};

const takeFrom = (
  pieces: readonly Held[],
  position: Position,
  limit: number,
  categories: readonly string[] | undefined,
): { readonly events: readonly RecordedEvent[]; readonly position: Position; readonly isAll: boolean } => {
  const events: RecordedEvent[] = [];
  let last = position;
  for (const piece of pieces) {
    for (const [at, event] of piece.events.entries()) {
      if (comparePositions(event.position, position) <= 0) continue;
      if (categories?.includes(piece.categories[at] as string) === false) continue;
      if (events.length === limit) return { events, position: last, isAll: false };
      events.push(event);
      last = event.position;
    }
    last = piece.position;
  }
  return { events, position: last, isAll: true };
};
