import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { createConfirmations, type Confirmations } from '../command/conversions/confirmations.ts';
import { createLedgers, type Ledgers } from '../command/conversions/ledgers.ts';
import { purgeableConversions } from '../command/conversions/purge-conversions.ts';
import { createSegments } from '../command/conversions/segment-rows.ts';
import type { Segments } from '../command/conversions/segments.ts';
import { systemClock } from '../shared/async/clock.ts';
import type { Config } from './config.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import type { Purgeable } from '../shared/async/purge-regularly.ts';
import { createKeyedDigest } from '../shared/secrets/keyed-digest.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';

/** What endpoint 14 works with. */
export interface ConversionParts {
  readonly ledgers: Ledgers;
  readonly confirmations: Confirmations;
  /** What shrinks, by name. */
  readonly purgeable: Readonly<Record<string, Purgeable>>;
}

const MIB = 1024 * 1024;

export const createConversionParts = (
  {
    pool,
    store,
    keys,
  }: { readonly pool: Pool; readonly store: EventStore; readonly keys: () => Promise<KeyRing> },
  config: Pick<Config, 'CONVERSIONS_MEMORY_MB'>,
  registry: Registry,
  log: Logger,
  replaceSegments: (segments: Segments) => Segments = (segments) => segments,
): ConversionParts => {
  const ledgers = createLedgers({
    store,
    segments: replaceSegments(createSegments(pool)),
    now: () => systemClock.now(),
    bytesMax: config.CONVERSIONS_MEMORY_MB * MIB,
    log,
  });
  registerLedgerMetrics(registry, ledgers);
  const confirmations = createConfirmations(pool, createKeyedDigest('conversion-confirmation', keys));
  return { ledgers, confirmations, purgeable: { ...purgeableConversions(pool), confirmations } };
};

const registerLedgerMetrics = (registry: Registry, ledgers: Ledgers): void => {
  const help = {
    sources: 'Event sources whose conversion events this process knows',
    bytes: 'Memory of what is known of them',
    fingerprints: 'Conversion events that are known',
    evicted: 'Sources that were let go for want of memory since the start',
  };
  for (const figure of Object.keys(help) as (keyof typeof help)[]) {
    const gauge: Gauge = new Gauge({
      name: `exchange_conversions_index_${figure}`,
      help: help[figure],
      registers: [registry],
      collect: () => gauge.set(ledgers.figures()[figure]),
    });
  }
};
