import { describe, expect, it } from '@jest/globals';
import { fuzzOptions } from './fuzz-options.ts';
import { fuzzRun, type FuzzReport } from './fuzz-run.ts';
import { startTarget } from './fuzz-target.ts';
import { plantedDefects } from './planted-defects.ts';
import { sampleDefects } from '../faults/kit/sample-defects.ts';

/** Proves that the fuzzer can fail: it finds each planted defect, and nothing without one. */

const { seed } = fuzzOptions({ requests: 0, raw: 0 });

const fuzzCareless = async (defect: string, requests: number): Promise<FuzzReport> => {
  const target = await startTarget('careless-main.js', { DEFECT: defect });
  try {
    return await fuzzRun(
      {
        target,
        credentials: [{ name: 'anonymous', authorization: undefined, weight: 1, owner: 'own' }],
        secrets: [],
        keep: [],
        members: {},
        bytes: [],
        give: async () => undefined,
      },
      { seed, requests, raw: 30 },
    );
  } finally {
    await target.stop();
  }
};

const namesOf = <Name extends string>(defects: Readonly<Record<Name, unknown>>): readonly Name[] =>
  Object.keys(defects) as Name[];

describe('planted defects', () => {
  it.each(sampleDefects(namesOf(plantedDefects), seed, 1))(
    '%s',
    async (defect) => {
      const { failures } = await fuzzCareless(defect, 4_000);
      console.log(`${defect}, found: ${failures[0]?.slice(0, 600)}`);
      expect(failures.join('\n')).toMatch(plantedDefects[defect]);
    },
    120_000,
  );

  it('finds nothing without a defect', async () => {
    expect((await fuzzCareless('none', 800)).failures.join('\n\n')).toBe('');
  }, 120_000);
});
