import { setImmediate as nextTurn } from 'node:timers/promises';
import { conversionStream } from '../../domain/conversions/events.ts';
import { commandInto, FINGERPRINT_WORDS } from '../../domain/conversions/fingerprint.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { DAYS_KNOWN } from '../../domain/conversions/fingerprint.ts';
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

/** Fingerprints of older events have expired; two more days allow for clock differences. */
const REACH_MS = (DAYS_KNOWN + 2) * 86_400_000;
/** Maximum number of fingerprints added per event-loop iteration, plus one event or segment. */
const SLICE = 20_000;

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

/** False when the log was replaced by a backup, but the segments were not. */
const isOfStream = ({ lastRevision, commands }: Segment, newest: RecordedEvent | undefined): boolean => {
  if (newest === undefined || newest.revision < lastRevision) return false;
  // The event of the segment's last revision has expired, so it cannot be compared.
  if (newest.revision > lastRevision) return true;
  const command = new Uint32Array(FINGERPRINT_WORDS);
  commandInto(newest.metadata.causationId, command, 0);
  for (let at = 0; at < commands.length; at += FINGERPRINT_WORDS) {
    if (command.every((word, n) => word === commands[at + n])) return true;
  }
  return false;
};

/** Segments may be missing: the stream fills the gaps. Segments of another log are ignored. */
export const readStreamFold = async (source: StreamSource): Promise<StreamFold> => {
  const { store, segments, now, customerId, sourceId } = source;
  const stream = conversionStream(customerId, sourceId);
  const fold = createStreamFold(sourceId);
  const pace = createPacer();
  const oldestMs = now() - REACH_MS;
  fold.table.today(dayOf(now()));

  /** Reads backward to `to`, or to expired events. @returns the last event read */
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
