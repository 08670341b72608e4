import { setImmediate as nextTurn } from 'node:timers/promises';
import { conversionStream } from '../../domain/conversions/conversion-events.ts';
import { commandInto, FINGERPRINT_WORDS } from '../../domain/conversions/fingerprint.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { DAYS_KNOWN } from './fingerprint-table.ts';
import { loggedData } from './logged-data.ts';
import { noSegments, type Segment, type Segments } from './segments.ts';
import { createStreamFold, dayOf, type StreamFold } from './stream-fold.ts';

export interface StreamSource {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly segments: Segments;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly customerId: number;
  readonly sourceId: string;
}

/** Events that were recorded earlier are not looked at: nothing of them is known any more, clocks aside. */
const REACH_MS = (DAYS_KNOWN + 2) * 86_400_000;
/** Fingerprints that are added in one turn of the event loop at most, one event or segment aside. */
const SLICE = 20_000;

/** Gives the event loop a turn after every `SLICE` of what is counted. */
const createPacer = (): ((added: number) => Promise<void>) => {
  let slice = 0;
  return async (added) => {
    slice += added;
    if (slice < SLICE) return;
    slice = 0;
    await nextTurn();
  };
};

const sizeOf = (event: RecordedEvent): number => 1 + loggedData(event).eventIds.length;

/** Whether a segment is of this stream: not where the log was replaced by a backup of it, and the segments were not. */
const isOfStream = ({ lastRevision, commands }: Segment, newest: RecordedEvent | undefined): boolean => {
  if (newest === undefined || newest.revision < lastRevision) return false;
  // Everything up to the segment is forgotten.
  if (newest.revision > lastRevision) return true;
  const command = new Uint32Array(FINGERPRINT_WORDS);
  commandInto(newest.metadata.causationId, command, 0);
  for (let at = 0; at < commands.length; at += FINGERPRINT_WORDS) {
    if (command.every((word, n) => word === commands[at + n])) return true;
  }
  return false;
};

/**
 * Folds a source's stream as far back as anything is known: the newest segments first, each gap between them, what is
 * before the first and behind the last of them from the stream itself. So segments may lack anything; those of
 * another log are not believed.
 */
export const readStreamFold = async (source: StreamSource): Promise<StreamFold> => {
  const { store, segments, now, customerId, sourceId } = source;
  const stream = conversionStream(customerId, sourceId);
  const fold = createStreamFold(sourceId);
  const pace = createPacer();
  const oldestMs = now() - REACH_MS;
  fold.table.today(dayOf(now()));

  /** From `from`, or the end, down to `to`, or to where nothing is known any more. @returns the last one read */
  const addBackward = async (from: number | undefined, to: number): Promise<RecordedEvent | undefined> => {
    const range = from === undefined ? {} : { from };
    let last: RecordedEvent | undefined;
    for await (const event of store.readStream(stream, { ...range, direction: 'backward' })) {
      last = event;
      fold.addEvent(event);
      if (event.revision <= to || Date.parse(event.recordedAt) < oldestMs) return last;
      await pace(sizeOf(event));
    }
    return last;
  };

  /** Everything from this revision on is there. */
  let floor: number | undefined;
  for (;;) {
    const page = await segments.before(customerId, sourceId, floor ?? Number.MAX_SAFE_INTEGER);
    for (const segment of page) {
      if (floor === undefined) {
        const newest = await addBackward(undefined, segment.lastRevision);
        if (!isOfStream(segment, newest)) return await readStreamFold({ ...source, segments: noSegments });
      } else if (segment.lastRevision < floor - 1) {
        await addBackward(floor - 1, segment.lastRevision + 1);
      }
      fold.addSegment(segment);
      floor = segment.firstRevision;
      await pace(segment.fingerprints.length / FINGERPRINT_WORDS);
      if (segment.recordedAtMs < oldestMs) return fold;
    }
    if (page.length === 0) break;
  }
  if (floor === undefined) await addBackward(undefined, 0);
  else if (floor > 0) await addBackward(floor - 1, 0);
  return fold;
};

/** Adds what has come to the stream since. */
export const catchUp = async (
  { store, customerId, sourceId }: Pick<StreamSource, 'store' | 'customerId' | 'sourceId'>,
  fold: StreamFold,
): Promise<void> => {
  const pace = createPacer();
  for await (const event of store.readStream(conversionStream(customerId, sourceId), {
    from: fold.revision + 1,
  })) {
    fold.addEvent(event);
    await pace(sizeOf(event));
  }
};
