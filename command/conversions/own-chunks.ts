import type { ConversionsLogged } from '../../domain/conversions/events.ts';
import type { EventStore, Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { loggedData } from './logged-data.ts';
import type { Segments } from './segments.ts';

export interface OwnChunks {
  readonly accepted: number;
  readonly chunks: number;
  readonly isComplete: boolean;
  /** The rules by which the first run checked the items. */
  readonly first: Pick<ConversionsLogged, 'allowedTypes' | 'advertiserId'> & { readonly occurredAt: string };
  readonly requestId: string;
  readonly health: ConversionsLogged['health'];
  readonly position: Position;
}

interface SourceStream {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly segments: Segments;
  readonly customerId: number;
  readonly sourceId: string;
  readonly stream: string;
}

/** Older events cannot belong to a repeated command. */
const REACH_MS = 4 * 86_400_000;

/** Searches the segments first, and the stream up to `revision` if some events are missing. */
export const findOwnChunks = async (
  { store, segments, customerId, sourceId, stream }: SourceStream,
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
      // The listed events may have gaps, so only a first chunk ends the search.
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
