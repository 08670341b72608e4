import {
  streamNameFilter,
  type AllStreamResolvedEvent,
  type EventStoreDBClient,
} from '@eventstore/db-client';
import type { Position } from '../event-store.ts';
import { parsePosition, printPosition } from './log-position.ts';
import { positionOf } from './log-reader.ts';

export interface OwnEventsListener {
  readonly onEvent: (event: AllStreamResolvedEvent, position: Position) => void;
  /** Earlier events may still arrive: see `OwnEvents.isDrained`. */
  readonly onPassed: (position: Position) => void;
  /** Can be called more than once. */
  readonly onEnd: (error: Error) => void;
}

export interface OwnEvents {
  readonly isDrained: boolean;
  pause(): void;
  resume(): void;
  close(): void;
}

/** Without system streams: with server-side projections, they are most of the log. */
const OWN_STREAMS = '^[^$].*';
const SEARCH_WINDOW = 256;

export const subscribeToOwnEvents = (
  client: EventStoreDBClient,
  after: Position,
  { onEvent, onPassed, onEnd }: OwnEventsListener,
): OwnEvents => {
  /** Otherwise an exception would stop the subscription silently, or end the process. */
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      onEnd(error as Error);
    }
  };
  const subscription = client.subscribeToAll({
    fromPosition: parsePosition(after),
    requiresLeader: true,
    filter: streamNameFilter({
      regex: OWN_STREAMS,
      maxSearchWindow: SEARCH_WINDOW,
      checkpointReached: (_, position) => guarded(() => onPassed(printPosition(position))),
    }),
  });
  subscription
    .on('error', onEnd)
    .on('end', () => onEnd(new Error('the server ended the subscription')))
    .on('close', () => onEnd(new Error('the subscription was closed')))
    .on('data', (event: AllStreamResolvedEvent) => guarded(() => onEvent(event, positionOf(event))));

  return {
    get isDrained() {
      return subscription.readableLength === 0;
    },
    pause: () => void subscription.pause(),
    resume: () => void subscription.resume(),
    close: () => {
      subscription.unsubscribe().catch(() => undefined);
      subscription.destroy();
    },
  };
};
