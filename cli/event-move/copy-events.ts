import {
  comparePositions,
  START,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { noResume, type CopyCheckpoint, type CopyState } from './copy-checkpoint.ts';
import { persist } from './persist.ts';
import type { Progress } from '../command.ts';
import { writePage } from './write-page.ts';

export class SourceWrittenError extends Error {
  override readonly name = 'SourceWrittenError';
}

export interface CopyOptions {
  readonly from: EventStore;
  readonly to: EventStore;
  readonly checkpoint: CopyCheckpoint;
  readonly onProgress?: (progress: Progress) => void;
}

export interface CopyResult {
  readonly events: number;
  /** Events that this run wrote or offered. Earlier runs copied the others. */
  readonly copied: number;
}

/** Two pages are in memory at a time: one being written, one being read. */
const PAGE_EVENTS = 1_000;

/**
 * Copies all events unchanged; the target assigns positions and times. A killed copy can be restarted: each
 * append names its revision and repeats the ids.
 * @throws SourceWrittenError, CopyConflictError
 */
export const copyEvents = async (options: CopyOptions): Promise<CopyResult> => {
  const { from, to, checkpoint, onProgress } = options;
  const end = await persist(() => from.head());
  const resumed = await resumePoint(from, to, await checkpoint.load());
  let { after, events } = resumed;
  for (let page = readPage(from, after); ;) {
    const read = await page;
    const last = read.at(-1);
    if (last === undefined) break;
    if (comparePositions(last.position, end) > 0) throw sourceWritten();
    page = readPage(from, last.position);
    await writePage(to, read);
    after = last.position;
    events += read.length;
    const { stream, revision, id } = last;
    await checkpoint.save({ after, events, last: { stream, revision, id } });
    onProgress?.({ events, fraction: fractionOf(from, after, end) });
  }
  if ((await persist(() => from.head())) !== end) throw sourceWritten();
  return { events, copied: events - resumed.events };
};

/** Starts reading the page early. The empty `catch` prevents an unhandled rejection when the copy fails first. */
const readPage = (from: EventStore, after: Position): Promise<readonly RecordedEvent[]> => {
  const page = persist(() => from.readAll({ after, limit: PAGE_EVENTS }));
  page.catch(() => undefined);
  return page;
};

const sourceWritten = (): Error =>
  new SourceWrittenError(
    'another process appends to the source: stop every process of the service that uses it',
  );

export const fractionOf = (store: EventStore, reached: Position, end: Position): number => {
  const whole = store.distance(START, end);
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, store.distance(START, reached) / whole));
};

const resumePoint = async (
  from: EventStore,
  to: EventStore,
  state: CopyState | undefined,
): Promise<Pick<CopyState, 'after' | 'events'>> => {
  if (state === undefined) return noResume;
  const { stream, revision, id } = state.last;
  const [inSource, inTarget] = await Promise.all([
    eventAt(from, stream, revision),
    eventAt(to, stream, revision),
  ]);
  const fits = inSource?.id === id && inSource.position === state.after && inTarget?.id === id;
  return fits ? state : noResume;
};

const eventAt = (store: EventStore, stream: string, revision: number): Promise<RecordedEvent | undefined> =>
  persist(async () => {
    let found: RecordedEvent | undefined;
    for await (const event of store.readStream(stream, { from: revision, limit: 1 })) found = event;
    return found;
  });
