import type { AllStreamResolvedEvent, EventStoreDBClient } from '@eventstore/db-client';
import { createWakeUp } from '../../async/wake-up.ts';
import { comparePositions, type Position } from '../event-store.ts';
import { GivenUpError } from './failure.ts';
import { bytesBetween } from './log-position.ts';
import { positionOf } from './log-reader.ts';
import { subscribeToOwnEvents } from './own-events.ts';

export interface LogTap {
  readonly waiting: number;
  readonly isFull: boolean;
  /** Can be after the last event: the server's filter reports positions. */
  readonly reached: Position;
  readonly ended: Error | undefined;
  take(count: number): { readonly events: readonly AllStreamResolvedEvent[]; readonly position: Position };
  /** @returns false on abort and after `timeoutMs` */
  changed(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  close(): void;
}

export interface TapBounds {
  readonly eventsMax: number;
  /** Bytes of the log, which approximate the memory. */
  readonly bytesMax: number;
  /** Aborting cancels a subscription only if it is already open. */
  readonly givenUp: AbortSignal;
}

export const openLogTap = (client: EventStoreDBClient, after: Position, bounds: TapBounds): LogTap => {
  const change = createWakeUp();
  let waiting: AllStreamResolvedEvent[] = [];
  let reached = after;
  /** Valid once all earlier events were delivered. */
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
      // In case the server treats the start position as inclusive.
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
