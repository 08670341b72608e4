import { setImmediate } from 'node:timers/promises';

/**
 * Prefetches one item if `isMoreThere`. Otherwise, at the end of the log, the next batch would start with its
 * first event, and events that arrive while the last batch commits would wait for two commits. A consumer
 * that ends early must abort the source, because the prefetch is not awaited.
 */
export async function* readAhead<T>(
  source: AsyncIterable<T>,
  isMoreThere: (item: T) => boolean,
): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const take = (): Promise<IteratorResult<T>> => {
    const next = iterator.next();
    // Prevents an unhandled rejection before it is awaited.
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
