import { Counter, Gauge, type Registry } from 'prom-client';
import { refusals, type Refusal } from './chain-end.ts';

export interface SealMetrics {
  /** Everything that was in the log is sealed, by whomever. */
  sealed(): void;
  refused(reason: Refusal): void;
}

/** What tells an operator that the log is not sealed any more, or must not be. */
export const registerSealMetrics = (registry: Registry): SealMetrics => {
  const registers = [registry];
  let sealedMs = performance.now();
  const age: Gauge = new Gauge({
    name: 'log_seal_age_seconds',
    help: 'Time since this process found the whole log sealed; since its start, where it never has',
    registers,
    collect: () => age.set((performance.now() - sealedMs) / 1_000),
  });
  const refused = new Counter({
    name: 'log_seals_refused_total',
    help: 'Seals that were refused because the chain, or the log, is not what it was',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of refusals) refused.inc({ reason }, 0);
  return {
    sealed: () => {
      sealedMs = performance.now();
    },
    refused: (reason) => refused.inc({ reason }),
  };
};
