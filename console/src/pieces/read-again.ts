import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { onLiveEvent } from '../api/live.ts';
import { queryClient } from '../api/query.ts';

const FIRST_MS = 500;
const DOUBLINGS_MAX = 6;
/** A later time is not waited for: an event, or the person, reads again before. */
const WAIT_MS_MAX = 3_600_000;

/**
 * Reads a path again at the time that its own answer names, for what no event reports, e.g. the next attempt of a
 * delivery. If the time has passed and nothing is new, waits for longer each time.
 * @param readAtMs when the answer came
 */
export const useReadAgainAt = (path: string, at: string | undefined, readAtMs: number): void => {
  const client = useQueryClient();
  const repeats = useRef<{ readonly at: string | undefined; readonly count: number }>({ at, count: 0 });
  useEffect(() => {
    if (at === undefined) return undefined;
    const count = repeats.current.at === at ? repeats.current.count : 0;
    repeats.current = { at, count: count + 1 };
    const waitMs = Math.max(0, Date.parse(at) - Date.now()) + FIRST_MS * 2 ** Math.min(count, DOUBLINGS_MAX);
    if (waitMs > WAIT_MS_MAX) return undefined;
    const timer = setTimeout(() => void client.invalidateQueries({ queryKey: [path] }), waitMs);
    return () => clearTimeout(timer);
  }, [client, path, at, readAtMs]);
};

const SOON_MS = [500, 1_500, 4_000, 10_000] as const;
/** Paths that are read again soon. True: and once more after that. */
const soon = new Map<string, boolean>();

/**
 * Reads what begins with a path again, a few times within ten seconds: what a worker does after an answer 202, or after
 * an event, is reported by no other event.
 */
export const readAgainSoon = (path: string): void => {
  if (soon.has(path)) {
    soon.set(path, true);
    return;
  }
  soon.set(path, false);
  const read = (): void =>
    void queryClient.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(path) });
  for (const ms of SOON_MS) setTimeout(read, ms);
  setTimeout(() => {
    const isWanted = soon.get(path) === true;
    soon.delete(path);
    if (isWanted) readAgainSoon(path);
  }, SOON_MS.at(-1));
};

/** For what workers do because of events. */
export const useReadAgainAfterEvents = (path: string): void =>
  useEffect(() => onLiveEvent(() => readAgainSoon(path)), [path]);
