import { describe, expect, it } from '@jest/globals';
import { amount } from '../support/amount.ts';
import { conversionMutants } from './conversion-mutants.ts';
import { onBothStores, sampleDefects } from './kit/sample-defects.ts';
import { conversionRun, describe as text, isBroken, isExact } from './conversion-run.ts';

const seed = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 1_000_000));
/** `CONVERSION_EVENTS=2000000` for the long form. */
const distinct = Number(process.env['CONVERSION_EVENTS'] ?? amount(10_000, 100_000));

describe('conversion events during kills, cut connections, lost replies and damaged segments', () => {
  it('each event is accepted, stored and counted once', async () => {
    const report = await conversionRun({
      seed,
      distinct,
      crashes: 1,
      faults: 1,
      secondsMax: 900 + distinct / 250,
    });
    console.log(text(report));
    expect(isExact(report) ? 'exact' : text(report)).toBe('exact');
    expect(report.sent).toBeGreaterThanOrEqual(distinct);
    expect(report.crashes).toBeGreaterThan(0);
    expect(report.faults).toBeGreaterThan(0);
  }, 10_000_000);

  it('also with the events in EventStoreDB, while it and the connections to it fail', async () => {
    const report = await conversionRun({
      seed,
      distinct: 2_000,
      faults: 4,
      secondsMax: 600,
      events: 'eventstoredb',
    });
    console.log(text(report));
    expect(isExact(report) ? 'exact' : text(report)).toBe('exact');
    expect(report.faults).toBeGreaterThanOrEqual(4);
  }, 900_000);
});

const ROUNDS_MAX = 8;

describe('planted defects are caught', () => {
  it.each(sampleDefects(onBothStores(conversionMutants), seed, 1))(
    '$mutant, events in $events',
    async ({ mutant, events }) => {
      // A defect shows only by chance. Mostly one reduced run suffices.
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const report = await conversionRun({
          seed: seed + round,
          distinct: 60_000,
          secondsMax: 25,
          mutant,
          events,
        });
        if (!isBroken(report)) continue;
        console.log(`${mutant}, caught in run ${round + 1}\n${text(report)}`);
        return;
      }
      throw new Error(`${mutant} was not caught, seeds ${seed} to ${seed + ROUNDS_MAX - 1}`);
    },
    ROUNDS_MAX * 150_000,
  );
});
