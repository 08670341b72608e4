import {
  categoryOf,
  comparePositions,
  isWanted,
  type EventBatch,
  type EventFilter,
  type Position,
  type RecordedEvent,
} from './event-store.ts';
import type { LogPiece } from './followed-log.ts';

export interface TailBounds {
  /** The last added range may exceed the bounds. */
  readonly eventsMax: number;
  readonly bytesMax: number;
}

/** The newest events, without a gap. Keeps ranges that were already read, so that a reader slightly behind can join. */
export interface TailBuffer {
  /** Exclusive. */
  readonly from: Position;
  readonly reached: Position;
  readonly isOver: boolean;
  /** @param piece starts after `reached` */
  add(piece: LogPiece): void;
  /** Drops no range that ends after `needed`. */
  trim(needed: Position): void;
  excess(): Position;
  take(position: Position, limit: number, filter: EventFilter): EventBatch;
}

interface BufferedRange extends LogPiece {
  readonly categories: readonly string[];
  readonly size: number;
}

export const createTailBuffer = (start: Position, { eventsMax, bytesMax }: TailBounds): TailBuffer => {
  let held: BufferedRange[] = [];
  let from = start;
  let caughtUp = true;
  let events = 0;
  let bytes = 0;
  const reached = (): Position => held.at(-1)?.position ?? from;
  const isOver = (): boolean => events > eventsMax || bytes > bytesMax;

  const indexBehind = (position: Position): number => {
    let [low, high] = [0, held.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePositions((held[middle] as BufferedRange).position, position) > 0) high = middle;
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
    take: (position, limit, filter) => {
      const taken = takeFrom(held.slice(indexBehind(position)), position, limit, filter);
      const { events: own, position: last, isAll } = taken;
      return { events: own, position: last, caughtUp: caughtUp && isAll };
    },
  };
};

const takeFrom = (
  pieces: readonly BufferedRange[],
  position: Position,
  limit: number,
  filter: EventFilter,
): { readonly events: readonly RecordedEvent[]; readonly position: Position; readonly isAll: boolean } => {
  const events: RecordedEvent[] = [];
  let last = position;
  for (const piece of pieces) {
    for (const [at, event] of piece.events.entries()) {
      if (comparePositions(event.position, position) <= 0) continue;
      if (!isWanted(filter, event, piece.categories[at])) continue;
      if (events.length === limit) return { events, position: last, isAll: false };
      events.push(event);
      last = event.position;
    }
    last = piece.position;
  }
  return { events, position: last, isAll: true };
};
