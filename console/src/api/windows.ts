import { useSyncExternalStore } from 'react';

/** One window of a rate limit, as the last counted answer named it. */
export interface Window {
  /** Requests that it allows. */
  readonly limit: number;
  readonly remaining: number;
  readonly closesAtMs: number;
}

let last: Window | undefined;
const listeners = new Set<() => void>();

const numberIn = (headers: Headers, name: string): number => Number(headers.get(name) ?? Number.NaN);

/** Requests below `/auth` are counted in windows that say nothing about the screens. */
export const noteWindow = ({ url, headers }: Response): void => {
  if (!new URL(url).pathname.startsWith('/api/')) return;
  const [limit, remaining, resetS] = ['Limit', 'Remaining', 'Reset'].map((name) =>
    numberIn(headers, `RateLimit-${name}`),
  ) as [number, number, number];
  if (Number.isNaN(limit + remaining + resetS)) return;
  last = { limit, remaining, closesAtMs: Date.now() + resetS * 1_000 };
  listeners.forEach((listener) => listener());
};

/** Undefined before the first answer. */
export const useWindow = (): Window | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => last,
  );
