import type { Purgeable } from '../async/purge-regularly.ts';
import { isUnavailable } from '../http/api-error-of.ts';

export interface DueWork<Item> {
  /** In an order without ties. @param after the last item of the previous page */
  readonly find: (after: Item | undefined, rowsMax: number) => Promise<readonly Item[]>;
  /** Must be safe to repeat: other processes may run it, and rows lag. */
  readonly work: (item: Item) => Promise<void>;
}

/** The next run, a minute later, resumes there. */
const RUN_MS_MAX = 30_000;
/** After this many unanswered calls in a row the store counts as unavailable. */
const UNANSWERED_MAX = 5;

export class SweepError extends Error {
  override readonly name = 'SweepError';
  readonly done: number;
  readonly failed: number;

  constructor(done: number, failed: number, cause: unknown) {
    super(`${failed} could not be done, ${done} were`, { cause });
    this.done = done;
    this.failed = failed;
  }
}

/**
 * A failed item is tried again after the end of the list; an early end resumes after the last tried item, so
 * no item waits for failing ones. @throws SweepError from `purge`
 */
export const createSweep = <Item>({ find, work }: DueWork<Item>, runMsMax = RUN_MS_MAX): Purgeable => {
  let last: Item | undefined;
  const due = async function* (rowsMax: number): AsyncGenerator<Item> {
    for (let pageRows = rowsMax; pageRows === rowsMax;) {
      const page = await find(last, rowsMax);
      yield* page;
      pageRows = page.length;
    }
    last = undefined;
  };
  return {
    purge: async (rowsMax, signal) => {
      const startedAt = performance.now();
      let [done, failed, unanswered] = [0, 0, 0];
      let first: unknown;
      for await (const item of due(rowsMax)) {
        last = item;
        try {
          await work(item);
          done += 1;
          unanswered = 0;
        } catch (error) {
          failed += 1;
          first ??= error;
          unanswered = isUnavailable(error) ? unanswered + 1 : 0;
        }
        const isOver = performance.now() - startedAt >= runMsMax;
        if (isOver || unanswered === UNANSWERED_MAX || signal?.aborted === true) break;
      }
      if (failed > 0) throw new SweepError(done, failed, first);
      return 0;
    },
  };
};
