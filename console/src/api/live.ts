import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { ExchangeError } from '../../../client/src/index.ts';
import { exchange } from './call.ts';
import type { LiveEvent } from './types.ts';

/**
 * One stream for all tabs of a browser: the tab that holds the lock reads it and passes the frames on. A browser opens
 * six connections to a host, so a stream for each tab would stop the seventh tab from loading. When the tab closes, the
 * next one continues after the last id that it has heard.
 */

export type LiveState = 'connecting' | 'open' | 'lost' | 'ended';

interface Heard {
  readonly event?: LiveEvent;
  readonly position?: string | undefined;
  readonly state?: LiveState;
  /** Events were missed: what is shown may be old. */
  readonly isMissed?: true;
  /** Conversion events were counted. */
  readonly isCounted?: true;
}

let state: LiveState = 'connecting';
let lastId: string | undefined;
const stateListeners = new Set<() => void>();
const eventListeners = new Set<(event: LiveEvent) => void>();
const missedListeners = new Set<() => void>();
const countListeners = new Set<() => void>();

const setState = (next: LiveState): void => {
  if (state === next) return;
  state = next;
  stateListeners.forEach((listener) => listener());
};

export const useLiveState = (): LiveState =>
  useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    () => state,
  );

/** @returns a function that ends it */
export const onLiveEvent = (listener: (event: LiveEvent) => void): (() => void) => {
  eventListeners.add(listener);
  return () => eventListeners.delete(listener);
};

const hear = ({ event, position, state: said, isMissed, isCounted }: Heard): void => {
  if (said !== undefined) setState(said);
  if (position !== undefined) lastId = position;
  if (isMissed === true) missedListeners.forEach((listener) => listener());
  if (isCounted === true) countListeners.forEach((listener) => listener());
  if (event !== undefined) eventListeners.forEach((listener) => listener(event));
};

/** @param userId streams of different users are different streams. @returns a function that ends it */
export const startLive = (userId: string): (() => void) => {
  const name = `exchange-events-${userId}`;
  const channel = new BroadcastChannel(name);
  const ending = new AbortController();
  channel.addEventListener('message', ({ data }: MessageEvent<Heard>) => hear(data));
  const say = (heard: Heard): void => {
    hear(heard);
    channel.postMessage(heard);
  };
  // A tab that comes later has heard no state: it hears the next one.
  if (state === 'connecting') setState('open');
  navigator.locks
    .request(name, { signal: ending.signal }, () => readUntilEnded(say, ending.signal))
    .catch(() => undefined);
  return () => {
    ending.abort();
    channel.close();
  };
};

const readUntilEnded = async (say: (heard: Heard) => void, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    try {
      await readEvents(say, signal);
    } catch (error) {
      if (!(error instanceof ExchangeError) || error.status !== 400) return say({ state: 'ended' });
      // The service does not know the position, e.g. because it was restored from a backup.
      lastId = undefined;
      say({ isMissed: true });
    }
  }
};

const readEvents = async (say: (heard: Heard) => void, signal: AbortSignal): Promise<void> => {
  const events = exchange.listen({
    ...(lastId === undefined ? {} : { after: lastId }),
    onPosition: (position) => say({ position }),
    onMissed: () => say({ isMissed: true }),
    onOpen: () => {
      // What happened before a stream that continues no other one is in no frame of it.
      if (lastId === undefined && state === 'lost') say({ isMissed: true });
      say({ state: 'open' });
    },
    onConversions: () => say({ isCounted: true }),
    onLost: () => say({ state: 'lost' }),
    signal,
  });
  for await (const event of events) say({ event });
};

/** The paths that show a resource, by the type of the event's resource. Other types: everything. */
const shownAt: Readonly<Record<string, RegExp>> = {
  ADVERTISER: /\/advertisers(?:\/\d+(?:\/(?:history|explain|diff))?)?$/,
  CAMPAIGN: /\/campaigns/,
  CREATIVE: /\/(?:creatives|submissions)/,
  EVENT_SOURCE: /\/event-sources/,
  PROPOSAL_REQUEST: /\/proposal/,
  SYNDICATION: /\/syndication-status/,
  TASK: /\/(?:tasks|audiences|catalogs|event-sources)/,
  WEBHOOK_SUBSCRIPTION: /\/webhook-subscriptions/,
};

/** What any event may add to. */
const shownOfAny = /\/(?:audit-logs|requests|webhook-subscriptions)(?:\/|$)/;

/** What shows conversion events and their counts. */
const showsCounts = (path: string): boolean =>
  /\/(?:events\/(?:received|summary)|event-sources|reporting\/delivery)/.test(path);

/** A path with the id of another resource of the same kind does not show this one. */
const isOfAnother = (path: string, resourceId: string): boolean => {
  // Not a key of the buyer, which may begin like an id.
  const [prefix] = /^[a-z]+_(?=[0-9a-f]{32}$)/.exec(resourceId) ?? [];
  const [named] = (prefix !== undefined && new RegExp(`(?<=/)${prefix}\\w+`).exec(path)) || [];
  return named !== undefined && named !== resourceId;
};

const isShownBy =
  ({ data: { resourceType, resourceId } }: LiveEvent) =>
  (path: string): boolean =>
    ((shownAt[resourceType] ?? /^/).test(path) && !isOfAnother(path, resourceId)) || shownOfAny.test(path);

/** Events that come together are one invalidation. In a busy account it is rarer: requests are limited to 100 a minute. */
const TOGETHER_MS = 800;
const BUSY_MS = 4_000;

/** Reads again what the events have changed, if it is shown. @returns a function that ends it */
export const invalidateByEvents = (client: QueryClient): (() => void) => {
  let waiting: ((path: string) => boolean)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let flushedAtMs = -Infinity;
  const flush = (): void => {
    const isShown = waiting;
    waiting = [];
    timer = undefined;
    flushedAtMs = performance.now();
    void client.invalidateQueries({
      predicate: ({ queryKey: [path] }) => isShown.some((of) => of(String(path))),
    });
  };
  const add = (isShown: (path: string) => boolean): void => {
    waiting.push(isShown);
    const sinceMs = performance.now() - flushedAtMs;
    timer ??= setTimeout(flush, sinceMs > BUSY_MS ? TOGETHER_MS : BUSY_MS - sinceMs);
  };
  const end = onLiveEvent((event) => add(isShownBy(event)));
  const counted = (): void => add(showsCounts);
  const everything = (): void => void client.invalidateQueries();
  countListeners.add(counted);
  missedListeners.add(everything);
  return () => {
    end();
    countListeners.delete(counted);
    missedListeners.delete(everything);
    clearTimeout(timer);
  };
};
