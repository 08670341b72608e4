import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createTurns } from '../../shared/command/turns.ts';

/** A stream folded up to one of its events. */
export interface Folded<State> {
  readonly state: State;
  /** How many events are in it; 0 before the first. */
  readonly revision: number;
  /** The latest time among them, by the clocks of those who decided them; empty before the first. */
  readonly at: string;
}

/** How a stream becomes a state. */
export interface Fold<State> {
  /** Of this way of folding, unique: what is kept is found by it and the stream. */
  readonly name: string;
  readonly initialState: State;
  readonly evolve: (state: State, event: RecordedEvent) => State;
  /** Memory that a state takes, about. */
  readonly bytesOf: (state: State) => number;
  /** Events between two states that are kept: more of them is less to read later. */
  readonly every: number;
}

/** Up to which event a stream is folded. */
export type Until =
  { readonly revision: number } | { readonly instant: string } | { readonly revision: 'last' };

/**
 * Folds streams up to any of their events. Events never change, so a state in the middle of a stream is right for ever:
 * some are kept in memory, and the next question about the stream begins at the nearest one.
 */
export interface KeptFolds {
  /** What the stream has come to; of a revision that it does not have, its last. */
  fold<State>(fold: Fold<State>, stream: string, until: Until): Promise<Folded<State>>;
  /** Forgets everything: the store behind it may be another one now. */
  clear(): void;
}

interface Kept {
  /** Ascending by revision, and so by time. */
  folds: Folded<unknown>[];
  every: number;
  bytes: number;
}

/** What an entry takes besides its state. */
const ENTRY_BYTES = 200;
/** Of all that may be kept, one stream's part at most: of a longer one every second state goes. */
const SHARE = 8;
/** The first of many questions about a long stream reads it; the others wait for what it keeps. */
const FIRST_READ = { waitMsMax: 2_500, waitingMax: 1_000 };

/** @param bytesMax of what is kept of all streams; the least recently asked for go first */
export const createKeptFolds = (store: Pick<EventStore, 'readStream'>, bytesMax: number): KeptFolds => {
  /** In the order of their last use. */
  const known = new Map<string, Kept>();
  const takeTurn = createTurns(FIRST_READ);
  let bytes = 0;
  /** How often everything was forgotten: what was being read then is not kept. */
  let generation = 0;

  const keep = <State>(key: string, { every, bytesOf }: Fold<State>, folded: Folded<State>): void => {
    const kept = known.get(key) ?? { folds: [], every, bytes: 0 };
    const last = kept.folds.at(-1)?.revision ?? 0;
    if (folded.revision < last + kept.every) return;
    kept.folds.push(folded);
    const size = bytesOf(folded.state) + ENTRY_BYTES;
    known.set(key, kept);
    kept.bytes += size;
    bytes += size;
    if (kept.bytes > bytesMax / SHARE) thinOut(kept);
    for (const [oldest, { bytes: freed }] of known) {
      if (bytes <= bytesMax || oldest === key) break;
      known.delete(oldest);
      bytes -= freed;
    }
  };
  /** Sizes are taken for even: what is left is counted as half. */
  const thinOut = (kept: Kept): void => {
    kept.folds = kept.folds.filter((_, n) => n % 2 === 1);
    kept.every *= 2;
    bytes -= kept.bytes / 2;
    kept.bytes /= 2;
  };

  const read = async <State>(
    fold: Fold<State>,
    key: string,
    stream: string,
    until: Until,
  ): Promise<Folded<State>> => {
    const folds = known.get(key)?.folds ?? [];
    const reached = folds.findLastIndex((one) => isWithin(until, one));
    let folded = (folds[reached] ?? { state: fold.initialState, revision: 0, at: '' }) as Folded<State>;
    const limit = limitOf(until, folded, folds[reached + 1]);
    const begun = generation;
    if (limit === 0) return folded;
    for await (const event of store.readStream(stream, {
      from: folded.revision,
      ...(limit === undefined ? {} : { limit }),
    })) {
      const { occurredAt } = event.metadata;
      const at = occurredAt > folded.at ? occurredAt : folded.at;
      if (!isWithin(until, { revision: event.revision + 1, at })) break;
      folded = { state: fold.evolve(folded.state, event), revision: event.revision + 1, at };
      if (begun === generation) keep(key, fold, folded);
    }
    return folded;
  };

  return {
    fold: (fold, stream, until) => {
      const key = `${fold.name} ${stream}`;
      const kept = known.get(key);
      if (kept === undefined) return takeTurn(key, () => read(fold, key, stream, until));
      known.delete(key);
      known.set(key, kept);
      return read(fold, key, stream, until);
    },
    clear: () => {
      generation += 1;
      known.clear();
      bytes = 0;
    },
  };
};

const isWithin = (until: Until, { revision, at }: Pick<Folded<unknown>, 'revision' | 'at'>): boolean =>
  'instant' in until ? at <= until.instant : until.revision === 'last' || revision <= until.revision;

/** How many events are to be read at most; undefined: to the end. */
const limitOf = (
  until: Until,
  from: Folded<unknown>,
  next: Folded<unknown> | undefined,
): number | undefined => {
  if ('revision' in until && until.revision !== 'last') return Math.max(0, until.revision - from.revision);
  return next === undefined ? undefined : next.revision - from.revision;
};
