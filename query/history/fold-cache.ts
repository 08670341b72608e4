import { createOneAtATime } from '../../shared/async/limit.ts';
import { EventStoreUnavailableError, type EventStore } from '../../shared/event-store/event-store.ts';
import { ClientGoneError } from '../../shared/http/errors.ts';
import type { Fold, FoldResult, Until } from './fold.ts';
import { createStateCache, identityOf } from './state-cache.ts';

/**
 * Caches some states in the middle of streams: events never change. But the log may have been replaced. So a
 * state is used only if its last event is still in place, with the same id, position and recording time: a
 * worker that repeats a command creates the same ids again.
 */
export interface FoldCache {
  /** Folds up to `until`, or the end. @throws ClientGoneError when `isClientGone` returns true (default: never) */
  fold<State>(
    fold: Fold<State>,
    stream: string,
    until: Until,
    isClientGone?: () => boolean,
  ): Promise<FoldResult<State>>;
  /** Reads in progress cache nothing from here on: a new connection may be to another log. */
  interrupt(): void;
}

const never = (): boolean => false;

/** The first of concurrent folds of a long stream reads it; the others wait for its states. */
const FIRST_READ = {
  waitMsMax: 2_500,
  waitingMax: 1_000,
  tooBusy: (stream: string) => new EventStoreUnavailableError(`too many reads wait for ${stream}`),
};

export const createFoldCache = (store: Pick<EventStore, 'readStream'>, bytesMax: number): FoldCache => {
  const cache = createStateCache(bytesMax);
  const oneAtATime = createOneAtATime(FIRST_READ);
  let interruptions = 0;

  /** Undefined for another log than that of the cached states, which are then deleted. */
  const tryRead = async <State>(
    fold: Fold<State>,
    key: string,
    stream: string,
    until: Until,
    isClientGone: () => boolean,
  ): Promise<FoldResult<State> | undefined> => {
    const folds = cache.of(key);
    const reached = folds.findLastIndex((one) => isWithin(until, one));
    const from = folds[reached];
    const next = folds[reached + 1];
    let folded = (from ?? { state: fold.initialState, revision: 0, at: '' }) as FoldResult<State>;
    let isKnown = from === undefined;
    const begun = interruptions;
    const limit = limitOf(until, folded, next);
    if (limit === 0 && isKnown) return folded;
    // Also reads the last event of the cached state, to verify it.
    for await (const event of store.readStream(stream, {
      from: isKnown ? 0 : folded.revision - 1,
      ...(limit === undefined ? {} : { limit: limit + (isKnown ? 0 : 1) }),
    })) {
      if (isClientGone()) throw new ClientGoneError();
      if (!isKnown) {
        if (identityOf(event) !== from?.event) break;
        isKnown = true;
        continue;
      }
      const { occurredAt } = event.metadata;
      const at = occurredAt > folded.at ? occurredAt : folded.at;
      if (!isWithin(until, { revision: event.revision + 1, at })) return folded;
      folded = { state: fold.evolve(folded.state, event), revision: event.revision + 1, at };
      if (begun === interruptions) cache.keep(key, fold, folded, event);
    }
    // In this log the instant is after the next cached state's events; in that state's log it was before.
    const isContradicted = 'instant' in until && next !== undefined && folded.revision >= next.revision;
    if (isKnown && !isContradicted) return folded;
    cache.forget(key);
    return undefined;
  };

  const read = async <State>(...question: Parameters<typeof tryRead<State>>): Promise<FoldResult<State>> => {
    for (;;) {
      const folded = await tryRead(...question);
      if (folded !== undefined) return folded;
    }
  };

  return {
    fold: (fold, stream, until, isClientGone = never) => {
      const key = `${fold.name} ${stream}`;
      const question = (): Promise<FoldResult<typeof fold.initialState>> =>
        read(fold, key, stream, until, isClientGone);
      return cache.use(key) ? question() : oneAtATime(key, question);
    },
    interrupt: () => {
      interruptions += 1;
    },
  };
};

const isWithin = (until: Until, { revision, at }: Pick<FoldResult<unknown>, 'revision' | 'at'>): boolean =>
  'instant' in until ? at <= until.instant : until.revision === 'last' || revision <= until.revision;

const limitOf = (
  until: Until,
  from: FoldResult<unknown>,
  next: FoldResult<unknown> | undefined,
): number | undefined => {
  if ('revision' in until && until.revision !== 'last') return Math.max(0, until.revision - from.revision);
  return next === undefined ? undefined : next.revision - from.revision;
};
