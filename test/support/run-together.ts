import { beforeAll, it } from '@jest/globals';

/**
 * Starts the tests of a `describe` together, because they mostly wait. Each is reported under its own name. They must
 * not share state that one of them changes.
 * @param timeoutMs for each, from the common start
 */
export const runTogether = (
  tests: Readonly<Record<string, () => Promise<void>>>,
  timeoutMs: number,
): void => {
  const begun = new Map<string, Promise<void>>();
  beforeAll(() => {
    for (const [name, run] of Object.entries(tests)) {
      const running = run();
      // The test that awaits the promise receives its error.
      running.catch(() => undefined);
      begun.set(name, running);
    }
  });
  it.each(Object.keys(tests))('%s', (name) => begun.get(name), timeoutMs);
};
