import { LRUCache } from 'lru-cache';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Fold, FoldResult } from './fold.ts';

export interface CachedState extends FoldResult<unknown> {
  readonly event: string;
}

export const identityOf = ({ id, position, recordedAt }: RecordedEvent): string =>
  `${id} ${position} ${recordedAt}`;

/** Keys name the stream and the fold. */
export interface StateCache {
  /** Ascending by revision, and so by time. */
  of(key: string): readonly CachedState[];
  /** Marks the key as recently used. @returns false if nothing is cached */
  use(key: string): boolean;
  /** Caches the state, unless the state before is near. */
  keep<State>(key: string, fold: Fold<State>, folded: FoldResult<State>, event: RecordedEvent): void;
  forget(key: string): void;
}

interface Entry {
  readonly states: readonly CachedState[];
  readonly every: number;
  readonly bytes: number;
}

const ENTRY_BYTES = 200;
/** A stream gets at most this fraction: of a longer stream every second state is deleted. */
const SHARE = 8;

/** @param bytesMax in total; evicts the least recently used keys */
export const createStateCache = (bytesMax: number): StateCache => {
  const known = new LRUCache<string, Entry>({
    maxSize: bytesMax,
    sizeCalculation: ({ bytes }) => Math.ceil(bytes),
  });
  return {
    of: (key) => known.peek(key)?.states ?? [],
    use: (key) => known.get(key) !== undefined,
    keep: (key, { every, bytesOf }, folded, event) => {
      const kept = known.peek(key) ?? { states: [], every, bytes: 0 };
      const last = kept.states.at(-1)?.revision ?? 0;
      if (folded.revision < last + kept.every) return;
      const states = [...kept.states, { ...folded, event: identityOf(event) }];
      const more = { ...kept, states, bytes: kept.bytes + bytesOf(folded.state) + ENTRY_BYTES };
      known.set(key, more.bytes > bytesMax / SHARE ? thinOut(more) : more);
    },
    forget: (key) => void known.delete(key),
  };
};

/** Assumes states of equal size, so half of the bytes remain. */
const thinOut = ({ states, every, bytes }: Entry): Entry => ({
  states: states.filter((_, n) => n % 2 === 1),
  every: every * 2,
  bytes: bytes / 2,
});
