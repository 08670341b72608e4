import { describe, expect, it } from '@jest/globals';
import { amount } from '../support/amount.ts';
import { crashRun, describe as text, isClean } from './crash-run.ts';
import { totalOf } from './kit/faulty-stores.ts';
import { onBothStores, sampleDefects } from './kit/sample-defects.ts';
import { mutants } from './mutants.ts';

const seed = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const SIZE = { commands: amount(120, 1_500), crashes: amount(12, 150), faults: amount(15, 200) };

describe('kill -9 at failpoints, cut and stalled connections', () => {
  it('nothing is lost or doubled, repeats get the same answer, and read models equal the folded streams', async () => {
    const report = await crashRun({ seed, ...SIZE, everyFailpoint: true, secondsMax: 400 });
    console.log(text(report));
    expect(isClean(report) ? 'clean' : text(report)).toBe('clean');
    expect(report.commands).toBeGreaterThanOrEqual(SIZE.commands);
    expect(report.crashes).toBeGreaterThanOrEqual(SIZE.crashes);
    expect(totalOf(report.faults)).toBeGreaterThanOrEqual(SIZE.faults);
    expect(report.failpointsMissed).toEqual([]);
    expect(Math.min(report.reads, report.replays)).toBeGreaterThan(0);
  }, 600_000);

  it('also with the events in EventStoreDB, while it and the connections to it fail', async () => {
    const size = { commands: 40, crashes: 4, faults: 8, secondsMax: 240, crashProbability: 0.01 };
    const report = await crashRun({ seed, ...size, events: 'eventstoredb' });
    console.log(text(report));
    expect(isClean(report) ? 'clean' : text(report)).toBe('clean');
    expect(report.commands).toBeGreaterThanOrEqual(size.commands);
    expect(report.crashes).toBeGreaterThanOrEqual(size.crashes);
    const { eventstoredb, inside } = report.faults;
    expect(Math.min(eventstoredb, inside)).toBeGreaterThanOrEqual(1);
  }, 400_000);

  const itOnNodes = process.env['TEST_EVENTSTORE'] === 'command' ? it : it.skip;
  itOnNodes(
    'also with three EventStoreDB nodes, of which one is killed or frozen',
    async () => {
      const size = { commands: 200, crashes: 10, faults: 30, secondsMax: 400, crashProbability: 0.01 };
      const report = await crashRun({ seed, ...size, events: 'eventstoredb', nodes: 3 });
      console.log(text(report));
      expect(isClean(report) ? 'clean' : text(report)).toBe('clean');
      expect(report.faults.inside).toBeGreaterThanOrEqual(1);
    },
    600_000,
  );
});

const ROUNDS_MAX = 8;

describe('planted defects are caught', () => {
  it.each(sampleDefects(onBothStores(mutants), seed, 1))(
    '$mutant, events in $events',
    async ({ mutant, events }) => {
      const reduced = { commands: 200, crashes: 0, faults: 20, secondsMax: 8, crashProbability: 0.01 };
      // A defect shows only by chance. Mostly one reduced run suffices.
      for (let round = 0; round < ROUNDS_MAX; round++) {
        const report = await crashRun({ seed: seed + round, ...reduced, mutant, events });
        if (isClean(report)) continue;
        console.log(`${mutant}, caught in run ${round + 1}\n${text(report)}`);
        return;
      }
      throw new Error(`${mutant} was not caught, seeds ${seed} to ${seed + ROUNDS_MAX - 1}`);
    },
    // With a defect that blocks commands, every client tries 600 times.
    ROUNDS_MAX * 150_000,
  );
});
