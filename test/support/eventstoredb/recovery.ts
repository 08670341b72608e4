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

/** Processes that stand differently to the leader that goes. */
export const PROCESSES = [
  'has done nothing since',
  'has tried since',
  'knows no other seed',
  'has just started',
] as const;

/**
 * How soon processes are back when a leader goes.
 * @param open a store of a new process, which knows all nodes, or only the leader that goes
 * @param go makes the leader go
 * @param untilLed resolves at the moment when another node leads
 * @returns of each of `PROCESSES`, ms from that moment until its first append is accepted
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
  // A store connects when it is first used.
  const accepted = await Promise.all([
    firstAccepted(idle),
    tried,
    firstAccepted(oneSeed),
    firstAccepted(late),
  ]);
  await Promise.all([idle, busy, oneSeed, late].map((store) => store.close()));
  return accepted.map((ms) => Math.max(0, ms - ledMs));
};
