import { useSyncExternalStore } from 'react';

/** While the service asks to wait, reads pause and the shell says so: a 429 is no error. */
let untilMs = 0;
const listeners = new Set<() => void>();

const notify = (): void => listeners.forEach((listener) => listener());

export const pauseFor = (seconds: number): void => {
  const end = Date.now() + seconds * 1_000;
  if (end <= untilMs) return;
  untilMs = end;
  notify();
  setTimeout(notify, seconds * 1_000 + 50);
};

/** When reads go on; undefined if they do not pause. */
export const usePause = (): number | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => (untilMs > Date.now() ? untilMs : undefined),
  );
