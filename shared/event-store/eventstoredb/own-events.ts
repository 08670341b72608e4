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
  /** Everything up to here was looked at. Events from before may still come: see `OwnEvents.isDrained`. */
  readonly onPassed: (position: Position) => void;
  /** Perhaps more than once. */
  readonly onEnd: (error: Error) => void;
}

export interface OwnEvents {
  /** Every event that the client has received was handed over. */
  readonly isDrained: boolean;
  pause(): void;
  resume(): void;
  close(): void;
}

/** Everything but the server's own streams: with projections, those are most of the log. */
const OWN_STREAMS = '^[^$].*';
/** Events of the server's own that are passed over until a checkpoint says so. */
const SEARCH_WINDOW = 256;

/** One subscription of the client behind a position, exclusive. An exception of the listener ends it. */
export const subscribeToOwnEvents = (
  client: EventStoreDBClient,
  after: Position,
  { onEvent, onPassed, onEnd }: OwnEventsListener,
): OwnEvents => {
  /** An exception would stop the subscription without a word, or end the process. */
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
