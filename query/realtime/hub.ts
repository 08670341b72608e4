import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { KEPT_DAYS } from '../../domain/notifications/kept-days.ts';
import { backoffMs, sleep } from '../../shared/async/backoff.ts';
import { createWakeUp, type WakeUp } from '../../shared/async/wake-up.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { isExpired, type FeedPlace } from '../notifications/cursor.ts';
import { FEED, FEED_START } from '../notifications/feed.ts';
import { followConversions } from './conversion-news.ts';
import type { ByeReason } from './frames.ts';
import { addStream, createLiveAccount, loadNews, tickAccount } from './live-account.ts';
import type { LiveAccount, LiveNode, StreamTimes } from './live-account.ts';
import type { LiveFeed } from './live-feed.ts';
import { endStream, type LiveStream, type StreamRequest } from './live-stream.ts';

/** In milliseconds. */
export interface HubTimes extends StreamTimes {
  /** The longest life of a stream, and by how much it varies in both directions. */
  readonly age: number;
  readonly ageSpread: number;
}

/** Time of day in milliseconds since 1970; `now`: as `performance.now()`. */
export interface HubClock {
  now(): number;
  timeOfDay(): number;
  random(): number;
}

export interface HubOptions {
  readonly feed: LiveFeed;
  /** Advances when this process applies events to the feed. Without it, the hub finds them by polling. */
  readonly progress: ProjectionProgress;
  readonly times: HubTimes;
  readonly log: Logger;
  readonly clock?: HubClock;
}

/** A place: what follows it. */
export type StreamStart = 'now' | 'earliest' | FeedPlace;

export interface OpenRequest extends StreamRequest {
  readonly customerId: number;
  readonly start: StreamStart;
  /** Sends the head of the answer. Called just before the first frame is written. */
  readonly begin: () => void;
}

export interface OpenStream {
  /** To be called when the client is gone. */
  remove(): void;
  end(reason: ByeReason): void;
}

/** The streams of a process. While none is open, it does nothing. */
export interface Hub {
  /** @throws before it calls `begin`, if the feed cannot be read */
  open(request: OpenRequest): Promise<OpenStream>;
  size(): number;
  /** Ends all streams. A stream that is opened later ends right after its first frames. */
  close(): void;
}

interface OpenHub extends LiveNode {
  readonly accounts: Map<number, LiveAccount>;
  readonly opened: WakeUp;
  readonly progress: ProjectionProgress;
}

/** Also how late the streams of an expired credential end at most. */
const TICK_MS = 500;
const POLL_MS = 100;
/** If this process has applied the last news itself, polling only finds out that another one has taken over. */
const POLL_MS_LEADING = 1_000;
const READS_AT_ONCE = 4;
const BACKOFF = { baseMs: 100, capMs: 2_000 } as const;
const DAY_MS = 24 * 60 * 60 * 1_000;

const systemHubClock: HubClock = {
  now: () => performance.now(),
  timeOfDay: () => Date.now(),
  random: () => Math.random(),
};

export const createHub = ({ feed, progress, times, log, clock = systemHubClock }: HubOptions): Hub => {
  const ending = new AbortController();
  const reads = pLimit(READS_AT_ONCE);
  const now = (): number => clock.now();
  const hub: OpenHub = {
    feed,
    progress,
    times,
    log,
    now,
    signal: ending.signal,
    inTurn: (read) => reads(read),
    accounts: new Map(),
    opened: createWakeUp(),
  };
  let openStreams = 0;
  let ticker: NodeJS.Timeout | undefined;
  void follow(hub);
  void followConversions(hub);

  const register = (customerId: number, end: FeedPlace, stream: LiveStream, text: string): OpenStream => {
    const account = hub.accounts.get(customerId) ?? createLiveAccount(hub, customerId, end);
    hub.accounts.set(customerId, account);
    openStreams += 1;
    ticker ??= setInterval(() => hub.accounts.forEach(tickAccount), TICK_MS);
    addStream(account, stream, text);
    hub.opened.wake();
    if (hub.signal.aborted) endStream(stream, 'shutdown');
    return {
      end: (reason) => endStream(stream, reason),
      remove: () => {
        stream.isOver = true;
        if (!account.streams.delete(stream)) return;
        openStreams -= 1;
        if (account.streams.size === 0) hub.accounts.delete(customerId);
        if (openStreams > 0) return;
        clearInterval(ticker);
        ticker = undefined;
      },
    };
  };

  return {
    open: async ({ customerId, start, begin, ...request }) => {
      const end = hub.accounts.get(customerId)?.ring.end ?? (await feed.end());
      const isReset = typeof start !== 'string' && isExpired(start, clock.timeOfDay());
      const place = start === 'now' || isReset ? end : start === 'earliest' ? FEED_START : start;
      const id = await feed.cursorOf(customerId, place);
      const { texts } = request;
      const reset = isReset ? texts.reset(id, oldestKept(clock.timeOfDay())) : '';
      const stream = newStream(request, place, now(), times.age + (2 * clock.random() - 1) * times.ageSpread);
      begin();
      return register(customerId, end, stream, texts.ready(id, clock.random()) + reset);
    },
    size: () => openStreams,
    close: () => {
      ending.abort();
      for (const { streams } of hub.accounts.values()) {
        for (const stream of streams) endStream(stream, 'shutdown');
      }
    },
  };
};

const oldestKept = (nowMs: number): string => new Date(nowMs - KEPT_DAYS * DAY_MS).toISOString();

const newStream = (request: StreamRequest, sent: FeedPlace, nowMs: number, ageMs: number): LiveStream => ({
  ...request,
  sent,
  endsAtMs: nowMs + ageMs,
  next: undefined,
  isReading: false,
  isOver: false,
  blockedAtMs: undefined,
  writtenAtMs: nowMs,
  idAtMs: nowMs,
});

/** One statement finds the accounts with news, and one more reads those of each. */
const follow = async (hub: OpenHub): Promise<void> => {
  const { accounts, opened, progress, signal, log } = hub;
  let isLeading = false;
  let isAnnounced = false;
  let failures = 0;
  while (!signal.aborted) {
    if (accounts.size === 0) {
      await opened.next({ signal });
      isLeading ||= progress.version(FEED) > 0;
      continue;
    }
    const seen = progress.version(FEED);
    try {
      const hasNews = await look(hub);
      failures = 0;
      if (isAnnounced || hasNews) isLeading = isAnnounced;
      await progress.beyond(FEED, seen, isLeading ? POLL_MS_LEADING : POLL_MS, signal);
      isAnnounced = progress.version(FEED) !== seen;
    } catch (error) {
      failures += 1;
      log.warn({ err: error }, 'the feed of notifications could not be polled');
      await sleep(backoffMs(failures, BACKOFF), signal);
    }
  }
};

const look = async ({ feed, accounts }: OpenHub): Promise<boolean> => {
  const idle = [...accounts.values()].filter((account) => {
    if (account.isLoading) account.loadAgain = true;
    return !account.isLoading;
  });
  const news = await feed.news(idle.map(({ customerId, ring }) => ({ customerId, place: ring.end })));
  const withNews = new Set(news.customerIds);
  for (const account of idle) {
    if (withNews.has(account.customerId)) void loadNews(account);
    else if (!account.isLoading) account.ring.extend(news.end);
  }
  return withNews.size > 0;
};
