import type { EventsIn } from '../../support/test-stores.ts';
import { createRandom } from './random.ts';

/**
 * Which planted defects a run tries to catch: `few` of them, others each time, since each takes its time. All of them
 * with `FAULT_MUTANTS=all`. (The simulation plants defects of its own, and catches all of them each time.)
 */
export const sampleDefects = <Defect>(
  defects: readonly Defect[],
  seed: number,
  few: number,
): readonly Defect[] => {
  const left = [...defects];
  if (process.env['FAULT_MUTANTS'] === 'all') return left;
  const random = createRandom(seed);
  while (left.length > few) left.splice(random.below(left.length), 1);
  return left;
};

/** A planted defect, and where the events are that the defect meets. */
export interface DefectOnStore {
  readonly mutant: string;
  readonly events: EventsIn;
}

/** Each defect on each store. They replace ports of the service, so that they are the same ones on both. */
export const onBothStores = (defects: Readonly<Record<string, unknown>>): readonly DefectOnStore[] =>
  (['postgres', 'eventstoredb'] as const).flatMap((events) =>
    Object.keys(defects).map((mutant) => ({ mutant, events })),
  );
