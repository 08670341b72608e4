import { beforeAll, it } from '@jest/globals';

/**
 * Tests of a `describe` that mostly wait: all of them begin together, each as it stands, and each is reported by its own
 * name. They share nothing that one of them changes.
 * @param timeoutMs of each, from when all began
 */
export const atOnce = (tests: Readonly<Record<string, () => Promise<void>>>, timeoutMs: number): void => {
  const begun = new Map<string, Promise<void>>();
  beforeAll(() => {
    for (const [name, run] of Object.entries(tests)) {
      const running = run();
      // Whoever waits for it hears of it.
      running.catch(() => undefined);
      begun.set(name, running);
    }
  });
  it.each(Object.keys(tests))('%s', (name) => begun.get(name), timeoutMs);
};
