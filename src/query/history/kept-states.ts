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
  states: KeptState[];
  every: number;
  bytes: number;
}

/** What an entry takes besides its state. */
const ENTRY_BYTES = 200;
/** Of all that may be kept, one stream's part at most: of a longer one every second state goes. */
const SHARE = 8;

/** @param bytesMax of all streams; the least recently used go first */
export const createKeptStates = (bytesMax: number): KeptStates => {
  /** In the order of their last use. */
  const known = new Map<string, Kept>();
  let bytes = 0;

  const forget = (key: string): void => {
    bytes -= known.get(key)?.bytes ?? 0;
    known.delete(key);
  };
  /** Sizes are taken for even: what is left is counted as half. */
  const thinOut = (kept: Kept): void => {
    kept.states = kept.states.filter((_, n) => n % 2 === 1);
    kept.every *= 2;
    bytes -= kept.bytes / 2;
    kept.bytes /= 2;
  };

  return {
    of: (key) => known.get(key)?.states ?? [],
    use: (key) => {
      const kept = known.get(key);
      if (kept === undefined) return false;
      known.delete(key);
      known.set(key, kept);
      return true;
    },
    keep: (key, { every, bytesOf }, folded, event) => {
      const kept = known.get(key) ?? { states: [], every, bytes: 0 };
      const last = kept.states.at(-1)?.revision ?? 0;
      if (folded.revision < last + kept.every) return;
      kept.states.push({ ...folded, event: identityOf(event) });
      const size = bytesOf(folded.state) + ENTRY_BYTES;
      known.set(key, kept);
      kept.bytes += size;
      bytes += size;
      if (kept.bytes > bytesMax / SHARE) thinOut(kept);
      for (const oldest of known.keys()) {
        if (bytes <= bytesMax || oldest === key) break;
        forget(oldest);
      }
    },
    forget,
  };
};
