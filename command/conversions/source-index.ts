import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Health } from '../../domain/conversions/conversion-events.ts';
import type { FingerprintSet } from '../../domain/conversions/decide-batch.ts';
import type { Position } from '../../shared/event-store/event-store.ts';
import { DAYS_KNOWN } from './fingerprint-table.ts';
import { catchUp, readStreamFold, type StreamSource } from './read-stream-fold.ts';
import { createStreamFold, dayOf, type LoggedCall } from './stream-fold.ts';

/**
 * What a source's stream says, folded up to one of its revisions: which events are known, its health. A cache: it is
 * proven by an append at exactly that revision, and read again whenever that fails.
 */
export interface SourceIndex {
  readonly known: FingerprintSet;
  /** Whether the stream has an event of this command from the last three days, up to the revision. */
  hasCommand(commandId: string): boolean;
  readonly health: Health;
  readonly revision: number | 'no-stream';
  /** Of the last event. */
  readonly position: Position | undefined;
  readonly bytes: number;
  readonly count: number;
  /** False before the first `bringUpToDate` is done. */
  readonly isLoaded: boolean;
  /** Reads what it lacks, if it is in doubt whether that is anything. @throws EventStoreUnavailableError */
  bringUpToDate(): Promise<void>;
  /** Something may be in the stream that was not read. */
  doubt(): void;
  /** The stream ends before the revision: it is not the one that was read (a restored backup). */
  forget(): void;
  /** An append at `revision` succeeded. */
  logged(
    calls: readonly LoggedCall[],
    last: { readonly revision: number; readonly position: Position },
  ): void;
}

export const createSourceIndex = (source: StreamSource): SourceIndex => {
  const { now, sourceId } = source;
  let fold = createStreamFold(sourceId);
  let state: 'unloaded' | 'in doubt' | 'current' = 'unloaded';
  let sweptOn = 0;

  /** Days are kept modulo 256: what is forgotten must be gone before its day seems young again. */
  const sweepDaily = async (): Promise<void> => {
    const today = dayOf(now());
    fold.table.today(today);
    if (today <= sweptOn) return;
    sweptOn = today;
    for (const _step of fold.table.sweep()) await nextTurn();
  };

  return {
    known: { has: (words, at, spot) => fold.table.has(words, at, spot) },
    hasCommand: (commandId) => fold.hasCommand(commandId),
    get health() {
      return fold.health;
    },
    get revision() {
      return fold.revision < 0 ? 'no-stream' : fold.revision;
    },
    get position() {
      return fold.position;
    },
    get bytes() {
      return fold.table.bytes;
    },
    get count() {
      return fold.table.count;
    },
    get isLoaded() {
      return state !== 'unloaded';
    },
    bringUpToDate: async () => {
      if (dayOf(now()) - sweptOn > DAYS_KNOWN) state = 'unloaded';
      if (state === 'unloaded') {
        fold = await readStreamFold(source);
        sweptOn = dayOf(now());
      } else {
        if (state === 'in doubt') await catchUp(source, fold);
        await sweepDaily();
      }
      state = 'current';
    },
    doubt: () => {
      if (state === 'current') state = 'in doubt';
    },
    forget: () => {
      state = 'unloaded';
    },
    logged: (calls, last) => fold.addLogged(calls, last, now()),
  };
};
