import { setImmediate } from 'node:timers/promises';

/**
 * Prefetches one item while the consumer processes the last one, if `isMoreThere` is true for the last one. An error
 * of the source arrives after the items before it.
 *
 * Not always: at the end of the log the next batch would be taken as soon as its first event arrives. The events that
 * arrive while the last batch commits would then wait for two more commits instead of one.
 *
 * The next item is requested before the last one is yielded: a consumer that works without a pause would otherwise
 * delay the request. A consumer that ends early must also abort the source, because the prefetch is not awaited.
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
