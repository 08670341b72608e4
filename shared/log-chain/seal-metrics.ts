import { Counter, Gauge, type Registry } from 'prom-client';
import { refusals, type Refusal } from './chain-end.ts';

export interface SealMetrics {
  sealed(): void;
  refused(reason: Refusal): void;
}

export const registerSealMetrics = (registry: Registry): SealMetrics => {
  const registers = [registry];
  let sealedMs = performance.now();
  const age: Gauge = new Gauge({
    name: 'exchange_log_seal_age_seconds',
    help: 'Seconds since this process last found the whole log sealed, or since its start',
    registers,
    collect: () => age.set((performance.now() - sealedMs) / 1_000),
  });
  const refused = new Counter({
    name: 'exchange_log_seals_refused_total',
    help: 'Refused attempts to seal the log, by reason',
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
