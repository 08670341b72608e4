import { createTurns } from '../../shared/command/turns.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { UnheardError } from '../../shared/http/errors.ts';

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
 *
 * The log itself may be another one, though: restored to an earlier time, or copied. So what is kept of a stream is gone
 * by only where the log still has, at its place, the event that was the last one of the kept state: same id, same
 * position, same moment of recording. Ids alone would not do, since workers' commands make the same ones again.
 */
export interface KeptFolds {
  /**
   * What the stream has come to; of a revision that it does not have, its last.
   * @param isUnheard asked between events; default: never
   * @throws UnheardError when it says so; what was folded by then is kept
   */
  fold<State>(
    fold: Fold<State>,
    stream: string,
    until: Until,
    isUnheard?: () => boolean,
  ): Promise<Folded<State>>;
  /**
   * Keeps nothing of what is being read now. To be called for every new connection to the log: what is read behind it may
   * be another log than what was read before.
   */
  interrupt(): void;
}

/** A state, and which event it was made with last. */
interface KeptFold extends Folded<unknown> {
  readonly event: string;
}

interface Kept {
  /** Ascending by revision, and so by time. */
  folds: KeptFold[];
  every: number;
  bytes: number;
}

/** Of one event in one log. */
const identityOf = ({ id, position, recordedAt }: RecordedEvent): string => `${id} ${position} ${recordedAt}`;

const never = (): boolean => false;

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
  let interruptions = 0;

  const keep = <State>(
    key: string,
    { every, bytesOf }: Fold<State>,
    folded: Folded<State>,
    event: RecordedEvent,
  ): void => {
    const kept = known.get(key) ?? { folds: [], every, bytes: 0 };
    const last = kept.folds.at(-1)?.revision ?? 0;
    if (folded.revision < last + kept.every) return;
    kept.folds.push({ ...folded, event: identityOf(event) });
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
  const forget = (key: string): void => {
    bytes -= known.get(key)?.bytes ?? 0;
    known.delete(key);
  };
  /** Sizes are taken for even: what is left is counted as half. */
  const thinOut = (kept: Kept): void => {
    kept.folds = kept.folds.filter((_, n) => n % 2 === 1);
    kept.every *= 2;
    bytes -= kept.bytes / 2;
    kept.bytes /= 2;
  };

  /** Undefined when the log turned out not to be the one that states were kept of: those are forgotten. */
  const tryRead = async <State>(
    fold: Fold<State>,
    key: string,
    stream: string,
    until: Until,
    isUnheard: () => boolean,
  ): Promise<Folded<State> | undefined> => {
    const folds = known.get(key)?.folds ?? [];
    const reached = folds.findLastIndex((one) => isWithin(until, one));
    const from = folds[reached];
    const next = folds[reached + 1];
    let folded = (from ?? { state: fold.initialState, revision: 0, at: '' }) as Folded<State>;
    let isKnown = from === undefined;
    const begun = interruptions;
    const limit = limitOf(until, folded, next);
    if (limit === 0 && isKnown) return folded;
    // Together with the last event of what is kept.
    for await (const event of store.readStream(stream, {
      from: isKnown ? 0 : folded.revision - 1,
      ...(limit === undefined ? {} : { limit: limit + (isKnown ? 0 : 1) }),
    })) {
      if (isUnheard()) throw new UnheardError();
      if (!isKnown) {
        if (identityOf(event) !== from?.event) break;
        isKnown = true;
        continue;
      }
      const { occurredAt } = event.metadata;
      const at = occurredAt > folded.at ? occurredAt : folded.at;
      if (!isWithin(until, { revision: event.revision + 1, at })) return folded;
      folded = { state: fold.evolve(folded.state, event), revision: event.revision + 1, at };
      if (begun === interruptions) keep(key, fold, folded, event);
    }
    // A moment that is behind the next kept state's events in this log, and was not in the one that it was made of.
    const isContradicted = 'instant' in until && next !== undefined && folded.revision >= next.revision;
    if (isKnown && !isContradicted) return folded;
    forget(key);
    return undefined;
  };

  const read = async <State>(...question: Parameters<typeof tryRead<State>>): Promise<Folded<State>> => {
    for (;;) {
      const folded = await tryRead(...question);
      if (folded !== undefined) return folded;
    }
  };

  return {
    fold: (fold, stream, until, isUnheard = never) => {
      const key = `${fold.name} ${stream}`;
      const kept = known.get(key);
      if (kept === undefined) return takeTurn(key, () => read(fold, key, stream, until, isUnheard));
      known.delete(key);
      known.set(key, kept);
      return read(fold, key, stream, until, isUnheard);
    },
    interrupt: () => {
      interruptions += 1;
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
