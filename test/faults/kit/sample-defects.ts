import type { EventsIn } from '../../support/test-stores.ts';
import { createRandom } from './random.ts';

/**
 * The planted defects that a run tries to catch. `few` random ones, because each takes time; all of them with
 * `FAULT_MUTANTS=all`. The simulation has its own defects and always catches all of them.
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

/** A planted defect, and the event store in which it is tested. */
export interface DefectOnStore {
  readonly mutant: string;
  readonly events: EventsIn;
}

/** Each defect with each store. Defects replace ports of the service, so they are the same for both. */
export const onBothStores = (defects: Readonly<Record<string, unknown>>): readonly DefectOnStore[] =>
  (['postgres', 'eventstoredb'] as const).flatMap((events) =>
    Object.keys(defects).map((mutant) => ({ mutant, events })),
  );
