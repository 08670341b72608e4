import { createOneAtATime } from '../../shared/async/limit.ts';
import { EventStoreUnavailableError, type EventStore } from '../../shared/event-store/event-store.ts';
import { UnheardError } from '../../shared/http/errors.ts';
import type { Fold, Folded, Until } from './fold.ts';
import { createKeptStates, identityOf } from './kept-states.ts';

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

const never = (): boolean => false;

/** The first of many questions about a long stream reads it; the others wait for what it keeps. */
const FIRST_READ = {
  waitMsMax: 2_500,
  waitingMax: 1_000,
  tooBusy: (stream: string) => new EventStoreUnavailableError(`too many reads wait for ${stream}`),
};

/** @param bytesMax of what is kept of all streams */
export const createKeptFolds = (store: Pick<EventStore, 'readStream'>, bytesMax: number): KeptFolds => {
  const known = createKeptStates(bytesMax);
  const takeTurn = createOneAtATime(FIRST_READ);
  let interruptions = 0;

  /** Undefined when the log turned out not to be the one that states were kept of: those are forgotten. */
  const tryRead = async <State>(
    fold: Fold<State>,
    key: string,
    stream: string,
    until: Until,
    isUnheard: () => boolean,
  ): Promise<Folded<State> | undefined> => {
    const folds = known.of(key);
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
      if (begun === interruptions) known.keep(key, fold, folded, event);
    }
    // A moment that is behind the next kept state's events in this log, and was not in the one that it was made of.
    const isContradicted = 'instant' in until && next !== undefined && folded.revision >= next.revision;
    if (isKnown && !isContradicted) return folded;
    known.forget(key);
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
      const question = (): Promise<Folded<typeof fold.initialState>> =>
        read(fold, key, stream, until, isUnheard);
      return known.use(key) ? question() : takeTurn(key, question);
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
