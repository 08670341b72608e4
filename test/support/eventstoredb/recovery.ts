import { randomUUID } from 'node:crypto';
import type { EventStoreDbEventStore } from '../../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { typicalEvent } from '../typical-event.ts';

/** Appends until one append is accepted. @returns `performance.now()` of its answer */
const firstAccepted = async (store: EventStoreDbEventStore): Promise<number> => {
  for (;;) {
    const accepted = await store
      .append(`sample-${randomUUID()}`, [typicalEvent()], 'no-stream')
      .catch(() => undefined);
    if (accepted !== undefined) return performance.now();
  }
};

/** Processes in different states when the leader disappears. */
export const PROCESSES = [
  'has done nothing since',
  'has tried since',
  'knows no other seed',
  'has just started',
] as const;

/**
 * The recovery time of processes when a leader disappears.
 * @param open a store of a new process that knows all nodes, or only the old leader
 * @param go stops the leader
 * @param untilLed resolves when another node leads
 * @returns for each of `PROCESSES`, the ms from then until its first accepted append
 */
export const recoverFrom = async (
  open: (seeds: 'all' | 'old leader') => EventStoreDbEventStore,
  go: () => Promise<void>,
  untilLed: () => Promise<void>,
): Promise<readonly number[]> => {
  const [idle, busy, oneSeed, late] = [open('all'), open('all'), open('old leader'), open('all')];
  await Promise.all([idle, busy, oneSeed].map(firstAccepted));
  await go();
  const tried = firstAccepted(busy);
  await untilLed();
  const ledMs = performance.now();
  // A store connects at its first use.
  const accepted = await Promise.all([
    firstAccepted(idle),
    tried,
    firstAccepted(oneSeed),
    firstAccepted(late),
  ]);
  await Promise.all([idle, busy, oneSeed, late].map((store) => store.close()));
  return accepted.map((ms) => Math.max(0, ms - ledMs));
};
