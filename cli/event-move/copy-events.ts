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

/** The source got events while it was copied: the copy is not the whole history. */
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
  /** In the source. */
  readonly events: number;
  /** Of these, written or offered by this run; the others were there at its start. */
  readonly copied: number;
}

/** Events in memory: this many being written, and as many being read ahead. */
const PAGE_EVENTS = 1_000;

/**
 * Copies the whole history: streams, revisions, ids, types, data and metadata as they are. Positions and times
 * of recording are the target's own. May be killed at any moment and run again: every append names the exact
 * revision and repeats the ids, so what is there stays there once.
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

/** The page is asked for ahead; when nobody waits for it any more, its failure is nobody's. */
const readPage = (from: EventStore, after: Position): Promise<readonly RecordedEvent[]> => {
  const page = persist(() => from.readAll({ after, limit: PAGE_EVENTS }));
  page.catch(() => undefined);
  return page;
};

const sourceWritten = (): Error =>
  new SourceWrittenError('the source is being written: stop every process of the service that uses it');

export const fractionOf = (store: EventStore, reached: Position, end: Position): number => {
  const whole = store.distance(START, end);
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, store.distance(START, reached) / whole));
};

/** Where the last run got to, if both stores are still those it knew; else the start, which is only slower. */
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
