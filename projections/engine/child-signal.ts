import { setMaxListeners } from 'node:events';

/** Also aborted when `work` ends, so nothing outlives it. Leaves no listener on `parent`. */
export const withChildSignal = async <T>(
  parent: AbortSignal,
  work: (child: AbortController) => Promise<T>,
): Promise<T> => {
  const child = new AbortController();
  // One listener for each read model; Node.js warns above ten.
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
