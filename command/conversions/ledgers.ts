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
  /** In bytes, for all sources. A single source may exceed it: a partial set would log duplicates. */
  readonly bytesMax: number;
  readonly log: Logger;
}

export interface Ledgers {
  of(customerId: number, sourceId: string): SourceLedger;
  figures(): LedgerFigures;
}

export interface LedgerFigures {
  readonly sources: number;
  readonly bytes: number;
  readonly fingerprints: number;
  readonly evicted: number;
}

const SOURCES_MAX = 10_000;
const CHECK_EVERY_MS = 250;

export const createLedgers = ({ store, segments, now, bytesMax, log }: LedgersOptions): Ledgers => {
  const ledgers = new Map<string, SourceLedger>();
  const waitingBytes = createWaitingBytes();
  let checkedMs = 0;
  let evicted = 0;

  const bytesOfAll = (): number => {
    let bytes = 0;
    for (const ledger of ledgers.values()) bytes += ledger.bytes;
    return bytes;
  };

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
      log.warn(
        { bytes, bytesMax, sources: ledgers.size },
        'the fingerprints of event sources exceed their memory limit',
      );
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
