import { conversionEvents } from '../../domain/conversions/events.ts';
import { toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import { appendInChunks } from '../../shared/event-store/append-in-chunks.ts';
import {
  WrongExpectedRevisionError,
  type EventStore,
  type NewEvent,
} from '../../shared/event-store/event-store.ts';
import { failpoint } from '../../shared/async/failpoints.ts';
import type { PlannedCall } from './decide-group.ts';
import type { SourceIndex } from './source-index.ts';

/** Upper bound for metadata, type and the store's own fields of one event. */
const METADATA_BYTES = 1_024;

interface Target {
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'ensurePositionRecorded' | 'appendBytesMax'>;
  readonly customerId: number;
  readonly stream: string;
}

/**
 * Calls without new items are answered too: their duplicates may be items that this append adds.
 * @returns false when another process has appended to the stream
 * @throws AppendOutcomeUnknownError, EventStoreUnavailableError: the index is in doubt then
 */
export const appendGroup = async (
  target: Target,
  index: SourceIndex,
  decided: readonly PlannedCall[],
): Promise<boolean> => {
  const isLogged = await log(target, index, decided);
  if (!isLogged) return false;
  for (const { waiting, result, events } of decided) {
    if (events.length > 0) waiting.call.context.onEvents?.('this-run');
    waiting.resolve({ outcome: 'done', result });
  }
  return true;
};

const log = async (
  { store, customerId, stream }: Target,
  index: SourceIndex,
  decided: readonly PlannedCall[],
): Promise<boolean> => {
  const { events, bytesOf } = eventsOf(decided);
  if (events.length === 0) {
    // Another process may have died between its events and the read-your-writes position.
    if (decided.length > 0 && index.position !== undefined) {
      await store.ensurePositionRecorded(customerId, index.position, stream);
    }
    return true;
  }
  try {
    failpoint('before-append');
    const brought = decided.filter(({ events: own }) => own.length > 0);
    const mayBeRepeat = async (): Promise<boolean> =>
      (await Promise.all(brought.map(({ waiting }) => waiting.call.hasRunBefore()))).includes(true);
    const last = await appendInChunks(store, stream, events, index.revision, { bytesOf, mayBeRepeat });
    failpoint('after-append');
    if (!last.repeated) {
      index.logged(
        brought.map(({ logged }) => logged),
        last,
      );
      return true;
    }
    // An append of an earlier run of these calls has succeeded. Its decision counts.
    index.doubt();
    return false;
  } catch (error) {
    index.doubt();
    if (!(error instanceof WrongExpectedRevisionError)) throw error;
    if (endsBefore(error, index.revision)) index.forget();
    return false;
  }
};

const endsBefore = ({ actual }: WrongExpectedRevisionError, revision: SourceIndex['revision']): boolean =>
  revision !== 'no-stream' && (actual === 'no-stream' || actual < revision);

const eventsOf = (decided: readonly PlannedCall[]) => {
  const bytes = new Map<NewEvent, number>();
  for (const { events: sized, firstChunk, waiting } of decided) {
    const events = sized.map(({ event }) => event);
    toNewEvents(events, waiting.call.context, conversionEvents, firstChunk).forEach((event, at) =>
      bytes.set(event, (sized[at]?.bytesMax ?? 0) + METADATA_BYTES),
    );
  }
  return { events: [...bytes.keys()], bytesOf: (event: NewEvent): number => bytes.get(event) ?? 0 };
};
