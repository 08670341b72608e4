import { setMaxListeners } from 'node:events';

/**
 * Runs `work` with a controller that is aborted when `parent` is, when `work` says so, and when it has ended in
 * whatever way: what was started with its signal never outlives the work. Leaves no listener behind on a parent
 * that lives long.
 */
export const withChildSignal = async <T>(
  parent: AbortSignal,
  work: (child: AbortController) => Promise<T>,
): Promise<T> => {
  const child = new AbortController();
  // One for each read model; the usual warning is for more than ten.
  setMaxListeners(0, child.signal);
  const end = (): void => child.abort();
  parent.addEventListener('abort', end, { once: true });
  if (parent.aborted) end();
  try {
    return await work(child);
  } finally {
    end();
    parent.removeEventListener('abort', end);
  }
};
