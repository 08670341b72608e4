import type { Logger } from 'pino';
import { sleep } from '../../shared/async/backoff.ts';
import type { FeedPlace } from '../notifications/cursor.ts';
import { isAfter, laterOf, type LiveEntry, type LiveFeed } from './live-feed.ts';
import { cutStream, endStream, passOver, writeTo, type LiveStream } from './live-stream.ts';
import { createRing, type Ring } from './ring.ts';

/** In milliseconds. */
export interface StreamTimes {
  readonly heartbeat: number;
  /** A stream without other frames gets a new cursor after this time. */
  readonly cursor: number;
  /** A client that reads nothing for this time, in ms, is cut. */
  readonly blocked: number;
}

/** What the accounts of a process share. */
export interface LiveNode {
  readonly feed: LiveFeed;
  readonly times: StreamTimes;
  /** Bounds the reads of the streams that are behind their ring. */
  readonly inTurn: <T>(read: () => Promise<T>) => Promise<T>;
  readonly now: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * The streams of an account in this process share one query and one ring. A stream that falls behind the ring, or
 * begins before it, reads the table until it has reached the ring.
 */
export interface LiveAccount extends LiveNode {
  readonly customerId: number;
  readonly streams: Set<LiveStream>;
  readonly ring: Ring;
  isLoading: boolean;
  loadAgain: boolean;
}

const RING_SIZE = 1_000;
const PAGE = 500;
/** Also bounds what is buffered for a client that does not read. */
const FRAMES_AT_ONCE = 50;
const RECHECK_MS_MIN = 20;
const RECHECK_MS_MAX = 500;

export const createLiveAccount = (node: LiveNode, customerId: number, end: FeedPlace): LiveAccount => ({
  ...node,
  customerId,
  streams: new Set(),
  ring: createRing(end, RING_SIZE),
  isLoading: false,
  loadAgain: false,
});

/** Writes the first frames, then everything after `stream.sent`. */
export const addStream = (account: LiveAccount, stream: LiveStream, firstFrames: string): void => {
  const { ring, streams } = account;
  streams.add(stream);
  if (!isAfter(ring.floor, stream.sent)) stream.next = ring.numberAfter(stream.sent);
  writeFrame(account, stream, firstFrames);
  // The credential was verified before the stream was in the set, so a change in between was missed.
  void recheck(account, [stream], laterOf(ring.end, stream.sent));
  pump(account, stream);
};

/** Reads what is new. A failure is logged; the next poll reports the same news again. */
export const loadNews = async (account: LiveAccount): Promise<void> => {
  if (account.isLoading) {
    account.loadAgain = true;
    return;
  }
  account.isLoading = true;
  try {
    do {
      account.loadAgain = false;
      const page = await account.feed.page(account.customerId, account.ring.end, PAGE);
      await publish(account, page.entries);
      if (page.hasMore) account.loadAgain = true;
      else account.ring.extend(page.next);
    } while (account.loadAgain && account.streams.size > 0);
  } catch (error) {
    cannotRead(account, error);
  } finally {
    account.isLoading = false;
  }
};

export const tickAccount = (account: LiveAccount): void => {
  for (const stream of account.streams) tickStream(account, stream, account.now());
  dropSent(account);
};

/** Sends what the client has not received yet, for as long as it keeps up. */
const pump = (account: LiveAccount, stream: LiveStream): void => {
  const { ring } = account;
  while (!stream.isOver && !stream.isReading && stream.blockedAtMs === undefined) {
    if (stream.next === undefined || stream.next < ring.first) {
      void readTable(account, stream);
      return;
    }
    const entries = ring.from(stream.next, FRAMES_AT_ONCE);
    if (entries.length === 0) return;
    stream.next += entries.length;
    send(account, stream, entries);
  }
};

export const writeFrame = (account: LiveAccount, stream: LiveStream, text: string): void =>
  writeTo(stream, text, account.now(), () => pump(account, stream));

const send = (account: LiveAccount, stream: LiveStream, entries: readonly LiveEntry[]): void => {
  const text = passOver(stream, entries);
  if (text === '') return;
  stream.idAtMs = account.now();
  writeFrame(account, stream, text);
};

const readTable = async (account: LiveAccount, stream: LiveStream): Promise<void> => {
  const { feed, inTurn, customerId } = account;
  stream.next = undefined;
  stream.isReading = true;
  // Later notifications are left to the ring: before they are in it, credentials are checked.
  const { floor, first } = account.ring;
  let isBehind = false;
  try {
    const page = await inTurn(() => feed.page(customerId, stream.sent, FRAMES_AT_ONCE));
    if (stream.isOver) return;
    const entries = page.entries.filter(({ place }) => !isAfter(place, floor));
    send(account, stream, entries);
    const isCut = entries.length < page.entries.length;
    if (isCut || !page.hasMore) {
      isBehind = !isCut && isAfter(floor, page.next);
      stream.sent = laterOf(stream.sent, isBehind ? page.next : floor);
      if (!isBehind && account.ring.first === first) stream.next = first;
    }
  } catch (error) {
    cannotRead(account, error);
    isBehind = true;
  } finally {
    stream.isReading = false;
  }
  // Otherwise the next tick reads again.
  if (!isBehind) pump(account, stream);
};

const cannotRead = ({ log, customerId }: LiveAccount, error: unknown): void =>
  log.warn({ err: error, account: customerId }, 'notifications for streams could not be read');

const publish = async (account: LiveAccount, entries: readonly LiveEntry[]): Promise<void> => {
  const { ring, streams } = account;
  const change = entries.findLast(({ changesAccess }) => changesAccess);
  if (change !== undefined) await recheck(account, streams, change.place);
  ring.add(entries);
  for (const stream of streams) pump(account, stream);
  dropSent(account);
};

/**
 * Ends streams whose credential is refused. The rows of credentials are written after the event, by the command or
 * the projection: a check before that would still accept the credential.
 */
const recheck = async (
  { feed, log, signal, customerId }: LiveAccount,
  streams: Iterable<LiveStream>,
  { position }: FeedPlace,
): Promise<void> => {
  const open = (): readonly LiveStream[] => [...streams].filter(({ isOver }) => !isOver);
  let pauseMs = RECHECK_MS_MIN;
  while (!signal.aborted && open().length > 0) {
    try {
      const isKnown = await feed.isAccessKnown(position);
      await Promise.all(open().map(endIfRefused));
      if (isKnown) return;
    } catch (error) {
      log.warn({ err: error, account: customerId }, 'credentials of streams could not be verified');
    }
    await sleep(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, RECHECK_MS_MAX);
  }
};

const endIfRefused = async (stream: LiveStream): Promise<void> => {
  if (!(await stream.isAllowed())) endStream(stream, 'credential');
};

/** The ring keeps only what a stream has still to send. */
const dropSent = ({ ring, streams }: LiveAccount): void => {
  let oldest = ring.next;
  for (const { next, isOver } of streams) {
    if (!isOver && next !== undefined && next >= ring.first) oldest = Math.min(oldest, next);
  }
  ring.dropBefore(oldest);
};

const tickStream = (account: LiveAccount, stream: LiveStream, nowMs: number): void => {
  const { times } = account;
  if (stream.isOver) return;
  if (stream.expiresAtMs !== undefined && nowMs >= stream.expiresAtMs) endStream(stream, 'credential');
  else if (nowMs >= stream.endsAtMs) endStream(stream, 'age');
  else if (stream.blockedAtMs !== undefined) {
    if (nowMs - stream.blockedAtMs >= times.blocked) cutStream(stream);
  } else {
    pump(account, stream);
    if (nowMs - stream.idAtMs >= times.cursor) void writeCursor(account, stream);
    else if (nowMs - stream.writtenAtMs >= times.heartbeat)
      writeFrame(account, stream, stream.texts.heartbeat);
  }
};

const writeCursor = async (account: LiveAccount, stream: LiveStream): Promise<void> => {
  const { ring, feed, customerId, now } = account;
  const { sent } = stream;
  const place = stream.next === ring.next ? laterOf(sent, ring.end) : sent;
  stream.idAtMs = now();
  try {
    const id = await feed.cursorOf(customerId, place);
    // A later id may have been written meanwhile.
    if (!stream.isOver && stream.blockedAtMs === undefined && stream.sent === sent)
      writeFrame(account, stream, stream.texts.cursor(id));
  } catch (error) {
    cannotRead(account, error);
  }
};
