import { setImmediate } from 'node:timers/promises';

/**
 * Takes the next item while the last one is being worked on, if `isMoreThere` says so of the last one: one
 * ahead, never more, so a slow consumer holds one item in memory besides its own. An error of the source comes
 * after the items before it.
 *
 * Why not always: at the end of the log the next batch would be taken the moment its first event arrives, and
 * everything that arrives while the last batch is being committed would have to wait for two more commits
 * instead of one.
 *
 * The next one is asked for before the last is given out: whoever works on it without a pause would keep the question
 * from being sent until then, and nobody would be reading meanwhile.
 *
 * Ending early does not wait for the item that is under way: whoever ends early must also abort the source.
 */
export async function* readAhead<T>(
  source: AsyncIterable<T>,
  isMoreThere: (item: T) => boolean,
): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const take = (): Promise<IteratorResult<T>> => {
    const next = iterator.next();
    // It may fail while nobody awaits it yet; whoever awaits it later still gets the error.
    next.catch(() => undefined);
    return next;
  };
  let ahead: Promise<IteratorResult<T>> | undefined;
  while (true) {
    const result = await (ahead ?? take());
    if (result.done === true) return;
    ahead = isMoreThere(result.value) ? take() : undefined;
    if (ahead !== undefined) await setImmediate();
    yield result.value;
  }
}
