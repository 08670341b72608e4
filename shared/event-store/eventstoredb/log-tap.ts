import type { AllStreamResolvedEvent, EventStoreDBClient } from '@eventstore/db-client';
import { createWakeUp } from '../../async/wake-up.ts';
import { comparePositions, type Position } from '../event-store.ts';
import { GivenUpError } from './failure.ts';
import { bytesBetween } from './log-position.ts';
import { positionOf } from './log-reader.ts';
import { subscribeToOwnEvents } from './own-events.ts';

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
  /** Fires when the client is given up: it cancels a subscription only if it is open by then. */
  readonly givenUp: AbortSignal;
}

export const openLogTap = (client: EventStoreDBClient, after: Position, bounds: TapBounds): LogTap => {
  const change = createWakeUp();
  let waiting: AllStreamResolvedEvent[] = [];
  let reached = after;
  /** It counts when every event that came before it was handed over. */
  let passed = after;
  let ended: Error | undefined;

  const isFull = (): boolean =>
    waiting.length >= bounds.eventsMax ||
    (waiting.length > 1 &&
      bytesBetween(positionOf(waiting[0] as AllStreamResolvedEvent), reached) > bounds.bytesMax);
  const settle = (): void => {
    if (own.isDrained && comparePositions(passed, reached) > 0) reached = passed;
    change.wake();
  };
  const own = subscribeToOwnEvents(client, after, {
    onEvent: (event, position) => {
      // What was there already must not come twice, whatever the server thinks "behind" means.
      if (comparePositions(position, reached) <= 0) return;
      reached = position;
      waiting.push(event);
      if (isFull()) own.pause();
      settle();
    },
    onPassed: (position) => {
      passed = position;
      settle();
    },
    onEnd: (error) => {
      ended ??= error;
      change.wake();
    },
  });

  const onGivenUp = (): void => {
    ended ??= new GivenUpError();
    change.wake();
  };
  bounds.givenUp.addEventListener('abort', onGivenUp, { once: true });
  if (bounds.givenUp.aborted) onGivenUp();

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
      if (!isFull()) own.resume();
      return { events, position };
    },
    changed: (timeoutMs, signal) => change.next({ timeoutMs, signal }),
    close: () => {
      ended ??= new Error('closed');
      bounds.givenUp.removeEventListener('abort', onGivenUp);
      own.close();
    },
  };
};
