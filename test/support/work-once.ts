import type { WorkKind } from '../../shared/work-list/run-work.ts';
import type { WorkList } from '../../shared/work-list/work-list.ts';

const signal = new AbortController().signal;

/**
 * Works on the due entries of one kind, as the queue does.
 * @returns their number
 * @throws the first error, after all others have ended
 */
export const workOnce = async (list: WorkList, kind: WorkKind): Promise<number> => {
  if ((await kind.prepare?.()) === false) return 0;
  const offered = await list.offer(kind.name, { countMax: 50, perAccountMax: 50 });
  const ends = await Promise.allSettled(
    offered.map(async (entry) => {
      const attempt = entry.attempts + 1;
      const run = { attempt, isLastAttempt: attempt >= kind.attemptsMax, signal };
      await list.settle(entry, await kind.handle(entry, run), kind.gapMs);
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return offered.length;
};
