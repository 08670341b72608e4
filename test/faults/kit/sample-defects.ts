import { createRandom } from './random.ts';

/**
 * Which planted defects a run tries to catch: `few` of them, others each time, since each takes its time. All of them
 * with `FAULT_MUTANTS=all`. (The simulation plants defects of its own, and catches all of them each time.)
 */
export const sampleDefects = <Defect extends string>(
  defects: Readonly<Record<Defect, unknown>>,
  seed: number,
  few: number,
): readonly Defect[] => {
  const names = Object.keys(defects) as Defect[];
  if (process.env['FAULT_MUTANTS'] === 'all') return names;
  const random = createRandom(seed);
  while (names.length > few) names.splice(random.below(names.length), 1);
  return names;
};
