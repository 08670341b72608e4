/** Long enough for a busy machine, but below a test's timeout. */
const UNTIL_MS_MAX = 90_000;

/** Between two polls, ms: a tenth of the time so far. A poll slows the very process that the test waits for. */
const pauseMs = (sinceMs: number): number => Math.min(100, Math.max(5, sinceMs / 10));

/** Polls until `condition` holds. @returns how long it took, in ms @throws Error after `timeoutMs` */
export const until = async (condition: () => Promise<boolean>, timeoutMs = UNTIL_MS_MAX): Promise<number> => {
  const start = performance.now();
  const sinceMs = (): number => performance.now() - start;
  while (!(await condition())) {
    if (sinceMs() > timeoutMs) throw new Error(`not within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs(sinceMs())));
  }
  return sinceMs();
};
