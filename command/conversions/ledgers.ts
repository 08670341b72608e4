import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { followSource } from './follow-source.ts';
import type { Segments } from './segments.ts';
import { createSourceLedger, type SourceLedger } from './source-ledger.ts';
import { createWaitingBytes } from './waiting-bytes.ts';

export interface LedgersOptions {
  readonly store: EventStore;
  readonly segments: Segments;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Memory for what is known of all sources, in bytes. A source alone may take more than that: it is not cut short,
   * only nothing else is kept beside it.
   */
  readonly bytesMax: number;
  readonly log: Logger;
}

/** The ledgers of this process, one a source: those used last, as far as memory goes. */
export interface Ledgers {
  of(customerId: number, sourceId: string): SourceLedger;
  figures(): LedgerFigures;
}

export interface LedgerFigures {
  readonly sources: number;
  readonly bytes: number;
  readonly fingerprints: number;
  /** Ledgers that were let go for want of memory. */
  readonly evicted: number;
}

const SOURCES_MAX = 10_000;
const CHECK_EVERY_MS = 250;

export const createLedgers = ({ store, segments, now, bytesMax, log }: LedgersOptions): Ledgers => {
  /** The one used longest ago first. */
  const ledgers = new Map<string, SourceLedger>();
  const waitingBytes = createWaitingBytes();
  let checkedMs = 0;
  let evicted = 0;

  const bytesOfAll = (): number => {
    let bytes = 0;
    for (const ledger of ledgers.values()) bytes += ledger.bytes;
    return bytes;
  };

  /** Lets go of those used longest ago. One that works is left alone; what is lost is read again when it is needed. */
  const makeRoom = (wanted: SourceLedger): void => {
    const atMs = performance.now();
    if (atMs - checkedMs < CHECK_EVERY_MS && ledgers.size <= SOURCES_MAX) return;
    checkedMs = atMs;
    let bytes = bytesOfAll();
    for (const [name, ledger] of ledgers) {
      if (bytes <= bytesMax && ledgers.size <= SOURCES_MAX) return;
      if (ledger === wanted || ledger.pending > 0) continue;
      ledgers.delete(name);
      bytes -= ledger.bytes;
      evicted += 1;
    }
    if (bytes > bytesMax)
      log.warn({ bytes, bytesMax, sources: ledgers.size }, 'what is known of sources exceeds its memory');
  };

  return {
    of: (customerId, sourceId) => {
      const name = `${customerId} ${sourceId}`;
      const ledger =
        ledgers.get(name) ??
        createSourceLedger({
          store,
          segments,
          now,
          waitingBytes,
          customerId,
          sourceId,
          loadSource: followSource(store, customerId, sourceId),
        });
      ledgers.delete(name);
      ledgers.set(name, ledger);
      makeRoom(ledger);
      return ledger;
    },
    figures: () => {
      let fingerprints = 0;
      for (const { count } of ledgers.values()) fingerprints += count;
      return { sources: ledgers.size, bytes: bytesOfAll(), fingerprints, evicted };
    },
  };
};
