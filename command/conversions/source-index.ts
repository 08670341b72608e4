import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Health } from '../../domain/conversions/events.ts';
import type { FingerprintSet } from '../../domain/conversions/decide-batch.ts';
import type { Position } from '../../shared/event-store/event-store.ts';
import { DAYS_KNOWN } from '../../domain/conversions/fingerprint.ts';
import { catchUp, readStreamFold, type StreamSource } from './read-stream-fold.ts';
import { createStreamFold, dayOf, type LoggedCall } from './stream-fold.ts';

/** A cache of the fold up to `revision`: an append at that revision proves it current. */
export interface SourceIndex {
  readonly known: FingerprintSet;
  /** From the last three days. */
  hasCommand(commandId: string): boolean;
  readonly health: Health;
  readonly revision: number | 'no-stream';
  readonly position: Position | undefined;
  readonly bytes: number;
  readonly count: number;
  readonly isLoaded: boolean;
  /** Reads new events when the index is in doubt. @throws EventStoreUnavailableError */
  bringUpToDate(): Promise<void>;
  doubt(): void;
  /** The stream ends before `revision`, so it is another one (a restored backup). */
  forget(): void;
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

  /** Days are stored modulo 256, so expired fingerprints must be removed before they look recent again. */
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
