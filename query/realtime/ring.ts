import type { FeedPlace } from '../notifications/cursor.ts';
import { isAfter, laterOf, type LiveEntry } from './live-feed.ts';

/** The newest entries of an account, numbered in the order of the feed, without gaps. */
export interface Ring {
  /** Every notification after this place, and up to `end`, is in the ring. */
  readonly floor: FeedPlace;
  readonly end: FeedPlace;
  /** Numbers of the oldest entry, and of the next one. They are equal when the ring is empty. */
  readonly first: number;
  readonly next: number;
  /** They follow `end` without a gap. Drops the oldest beyond the size. */
  add(entries: readonly LiveEntry[]): void;
  /** There is no notification between `end` and this place. */
  extend(place: FeedPlace): void;
  /** @param number from `first` to `next` */
  from(number: number, max: number): readonly LiveEntry[];
  /** The index of the first entry after a place that is not before `floor`. */
  numberAfter(place: FeedPlace): number;
  dropBefore(number: number): void;
}

export const createRing = (start: FeedPlace, size: number): Ring => {
  let entries: LiveEntry[] = [];
  let [floor, end] = [start, start];
  let first = 0;
  const drop = (count: number): void => {
    const last = entries[count - 1];
    if (last === undefined) return;
    entries = entries.slice(count);
    first += count;
    floor = entries.length === 0 ? end : last.place;
  };
  return {
    get floor() {
      return floor;
    },
    get end() {
      return end;
    },
    get first() {
      return first;
    },
    get next() {
      return first + entries.length;
    },
    add: (added) => {
      const last = added.at(-1);
      if (last === undefined) return;
      entries.push(...added);
      end = laterOf(end, last.place);
      drop(entries.length - size);
    },
    extend: (place) => {
      end = laterOf(end, place);
      if (entries.length === 0) floor = end;
    },
    from: (number, max) => entries.slice(number - first, number - first + max),
    numberAfter: (place) => {
      const at = entries.findIndex((entry) => isAfter(entry.place, place));
      return first + (at < 0 ? entries.length : at);
    },
    dropBefore: (number) => drop(number - first),
  };
};
