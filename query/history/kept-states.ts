import { LRUCache } from 'lru-cache';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Fold, Folded } from './fold.ts';

/** A state, and which event it was made with last. */
export interface KeptState extends Folded<unknown> {
  readonly event: string;
}

/** Of one event in one log. */
export const identityOf = ({ id, position, recordedAt }: RecordedEvent): string =>
  `${id} ${position} ${recordedAt}`;

/** States of streams in memory, by whatever names a stream and how it is folded. */
export interface KeptStates {
  /** Ascending by revision, and so by time. */
  of(key: string): readonly KeptState[];
  /** Counts as used now. @returns whether anything is kept */
  use(key: string): boolean;
  /** Keeps the state, unless the one before is near. */
  keep<State>(key: string, fold: Fold<State>, folded: Folded<State>, event: RecordedEvent): void;
  forget(key: string): void;
}

interface Kept {
  readonly states: readonly KeptState[];
  readonly every: number;
  readonly bytes: number;
}

/** What an entry takes besides its state. */
const ENTRY_BYTES = 200;
/** Of all that may be kept, one stream's part at most: of a longer one every second state goes. */
const SHARE = 8;

/** @param bytesMax of all streams; the least recently used go first */
export const createKeptStates = (bytesMax: number): KeptStates => {
  const known = new LRUCache<string, Kept>({
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

/** Sizes are taken for even: what is left is counted as half. */
const thinOut = ({ states, every, bytes }: Kept): Kept => ({
  states: states.filter((_, n) => n % 2 === 1),
  every: every * 2,
  bytes: bytes / 2,
});
