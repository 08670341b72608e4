import type { ConversionsLogged } from '../../domain/conversions/conversion-events.ts';
import type { EventStore, Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { loggedData } from './logged-data.ts';
import type { Segments } from './segments.ts';

/** What an earlier run of a command has left in the stream. */
export interface OwnChunks {
  /** Items that it logged. */
  readonly accepted: number;
  /** Pieces that it left. */
  readonly chunks: number;
  /** Nothing is missing. */
  readonly isComplete: boolean;
  /** What the items were judged by. */
  readonly first: Pick<ConversionsLogged, 'allowedTypes' | 'advertiserId'> & { readonly occurredAt: string };
  /** Of the request that the last piece was appended for. */
  readonly requestId: string;
  readonly health: ConversionsLogged['health'];
  readonly position: Position;
}

/** Where it is looked for. */
interface Place {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly segments: Segments;
  readonly customerId: number;
  readonly sourceId: string;
  readonly stream: string;
}

/** Further back than any repeat of a command comes. */
const REACH_MS = 4 * 86_400_000;

/**
 * Finds the events of a command that is known to have some: where the segments say, and when that is not all of
 * them, in the stream itself.
 * @param revision up to which the stream is looked at
 */
export const findOwnChunks = async (
  { store, segments, customerId, sourceId, stream }: Place,
  commandId: string,
  revision: number,
  nowMs: number,
): Promise<OwnChunks | undefined> => {
  const isOwn = ({ metadata }: RecordedEvent): boolean => metadata.causationId === commandId;
  const listed = await segments.ofCommand(customerId, sourceId, commandId);
  const found = new Map<number, RecordedEvent>();
  for (const from of listed) {
    for await (const event of store.readStream(stream, { from, limit: 1 })) {
      if (isOwn(event)) found.set(event.revision, event);
    }
  }
  if (!isWhole(found)) {
    const lowest = Math.min(...found.keys(), Infinity);
    const oldestMs = nowMs - REACH_MS;
    for await (const event of store.readStream(stream, { from: revision, direction: 'backward' })) {
      if (isOwn(event)) found.set(event.revision, event);
      const isFirst = isOwn(event) && loggedData(event).chunk === 0;
      // The listed ones may lack some in between: only a first piece ends the search.
      if (isFirst || (event.revision <= lowest && startsWhole(found))) break;
      if (Date.parse(event.recordedAt) < oldestMs) break;
    }
  }
  return summary(found);
};

const inOrder = (found: ReadonlyMap<number, RecordedEvent>): readonly RecordedEvent[] =>
  [...found.values()].sort((one, other) => one.revision - other.revision);

const startsWhole = (found: ReadonlyMap<number, RecordedEvent>): boolean =>
  found.size > 0 && inOrder(found).every((event, index) => loggedData(event).chunk === index);

const isWhole = (found: ReadonlyMap<number, RecordedEvent>): boolean => {
  const last = inOrder(found).at(-1);
  return startsWhole(found) && last !== undefined && loggedData(last).last;
};

const summary = (found: ReadonlyMap<number, RecordedEvent>): OwnChunks | undefined => {
  const events = inOrder(found);
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const { allowedTypes, advertiserId } = loggedData(first);
  return {
    accepted: events.reduce((sum, event) => sum + loggedData(event).eventIds.length, 0),
    chunks: events.length,
    isComplete: isWhole(found),
    first: {
      advertiserId,
      occurredAt: first.metadata.occurredAt,
      ...(allowedTypes === undefined ? {} : { allowedTypes }),
    },
    health: loggedData(last).health,
    requestId: last.metadata.requestId,
    position: last.position,
  };
};
