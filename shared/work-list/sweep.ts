import type { Purgeable } from '../async/purge-regularly.ts';
import { isUnavailable } from '../http/api-error-of.ts';

/** Work that becomes due by itself, found by its rows. */
export interface DueWork<Item> {
  /**
   * Finds at most `rowsMax` due items, in an order without ties.
   * @param after the last item of the previous page; undefined: starts with the first item
   */
  readonly find: (after: Item | undefined, rowsMax: number) => Promise<readonly Item[]>;
  /** To be safe to repeat: others may be at it, and the rows say that it is due until they have caught up. */
  readonly work: (item: Item) => Promise<void>;
}

/** Longest time of a run; the next one, a minute later, resumes there. */
const RUN_MS_MAX = 30_000;
/** After this many unanswered calls in a row the store counts as unavailable, and the run ends. */
const UNANSWERED_MAX = 5;

/** Some due items failed; `cause` is the first failure. */
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
 * Goes through all that is due, page by page, one after the other, also behind what fails: that is tried again once the
 * list has come to its end. A run that ends early is continued behind the last that was tried, so nothing waits for what
 * fails, however much that is.
 * @returns what does a run at each call, of pages of `rowsMax`, and has nothing more to do at once then; at the end of a
 *   run in which something failed it throws `SweepError`
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
