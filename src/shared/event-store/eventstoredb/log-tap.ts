import {
  streamNameFilter,
  type AllStreamResolvedEvent,
  type EventStoreDBClient,
} from '@eventstore/db-client';
import { comparePositions, type Position } from '../event-store.ts';
import { bytesBetween, parsePosition, printPosition } from './log-position.ts';
import { positionOf } from './log-reader.ts';

/** One subscription of the client: what has come of it and was not taken yet. Never lives again once it has ended. */
export interface LogTap {
  /** Events waiting to be taken. */
  readonly waiting: number;
  /** As much is waiting as may: nothing more comes until some of it is taken. */
  readonly isFull: boolean;
  /** Everything up to here has come, the last event's position or, behind it, one that only the filter saw. */
  readonly reached: Position;
  /** Why nothing more will come; undefined while it goes on. */
  readonly ended: Error | undefined;
  /** Up to `count` events, and the position behind which the next ones are. */
  take(count: number): { readonly events: readonly AllStreamResolvedEvent[]; readonly position: Position };
  /** Resolves at the next change of anything above, on abort, after `timeoutMs`; true for a change. */
  changed(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  close(): void;
}

export interface TapBounds {
  readonly eventsMax: number;
  /** Of the log between the first and the last waiting event: what it may take in memory, about. */
  readonly bytesMax: number;
}

/** Everything but the server's own streams: with projections, those are most of the log. */
const OWN_STREAMS = '^[^$].*';
/** Events of the server's own that are passed over until a checkpoint says so. */
const SEARCH_WINDOW = 256;

export const openLogTap = (client: EventStoreDBClient, after: Position, bounds: TapBounds): LogTap => {
  let waiting: AllStreamResolvedEvent[] = [];
  let reached = after;
  /** Passed by the filter; it counts when every event that came before it has left the client's buffer. */
  let passed = after;
  let ended: Error | undefined;
  let onChange: () => void = () => undefined;

  const isFull = (): boolean =>
    waiting.length >= bounds.eventsMax ||
    (waiting.length > 1 &&
      bytesBetween(positionOf(waiting[0] as AllStreamResolvedEvent), reached) > bounds.bytesMax);
  const settle = (): void => {
    if (subscription.readableLength === 0 && comparePositions(passed, reached) > 0) reached = passed;
    onChange();
  };
  const end = (error: Error): void => {
    ended ??= error;
    onChange();
  };

  const subscription = client.subscribeToAll({
    fromPosition: parsePosition(after),
    requiresLeader: true,
    filter: streamNameFilter({
      regex: OWN_STREAMS,
      maxSearchWindow: SEARCH_WINDOW,
      checkpointReached: (_, position) => {
        // An exception here would stop the subscription without a word, and end the process.
        try {
          passed = printPosition(position);
          settle();
        } catch (error) {
          end(error as Error);
        }
      },
    }),
  });
  subscription
    .on('error', end)
    .on('end', () => end(new Error('the server ended the subscription')))
    .on('close', () => end(new Error('the subscription was closed')))
    .on('data', (event: AllStreamResolvedEvent) => {
      try {
        const position = positionOf(event);
        // What was there already must not come twice, whatever the server thinks "behind" means.
        if (comparePositions(position, reached) <= 0) return;
        reached = position;
        waiting.push(event);
        if (isFull()) subscription.pause();
        settle();
      } catch (error) {
        end(error as Error);
      }
    });

  return {
    get waiting() {
      return waiting.length;
    },
    get isFull() {
      return isFull();
    },
    get reached() {
      return reached;
    },
    get ended() {
      return ended;
    },
    take: (count) => {
      const events = waiting.slice(0, count);
      waiting = waiting.slice(count);
      const last = events.at(-1);
      const position = waiting.length === 0 || last === undefined ? reached : positionOf(last);
      if (!isFull()) subscription.resume();
      return { events, position };
    },
    changed: (timeoutMs, signal) =>
      new Promise((resolve) => {
        const done = (isChange: boolean) => (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          onChange = () => undefined;
          resolve(isChange);
        };
        const onAbort = done(false);
        const timer = setTimeout(onAbort, timeoutMs);
        onChange = done(true);
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      }),
    close: () => {
      ended ??= new Error('closed');
      subscription.unsubscribe().catch(() => undefined);
      subscription.destroy();
    },
  };
};
