import { describe, expect, it } from '@jest/globals';
import { crashRun, describe as text, isClean } from './crash-run.ts';
import { mutants } from './mutants.ts';

const seed = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 1_000_000));

describe('kill -9 at failpoints, cut and stalled connections', () => {
  it('loses nothing, doubles nothing, answers every repeat alike; read models equal the fold', async () => {
    const report = await crashRun({ seed, commands: 1_500, crashes: 150, faults: 200, secondsMax: 240 });
    console.log(text(report));
    expect(isClean(report) ? 'clean' : text(report)).toBe('clean');
    expect(report.commands).toBeGreaterThanOrEqual(1_500);
    expect(report.crashes).toBeGreaterThanOrEqual(150);
    expect(report.faults).toBeGreaterThanOrEqual(200);
    expect(report.failpointsMissed).toEqual([]);
  }, 400_000);
});

describe('planted defects are caught', () => {
  it.each(Object.keys(mutants))(
    '%s',
    async (mutant) => {
      const reduced = { commands: 200, crashes: 0, faults: 20, secondsMax: 8, crashProbability: 0.01 };
      // A defect may need luck to show: three reduced runs at most.
      for (let round = 0; round < 3; round++) {
        const report = await crashRun({ seed: seed + round, ...reduced, mutant });
        if (isClean(report)) continue;
        console.log(`${mutant}, caught in run ${round + 1}\n${text(report)}`);
        return;
      }
      throw new Error(`${mutant} was not caught in three runs, seeds ${seed} to ${seed + 2}`);
    },
    120_000,
  );
});
