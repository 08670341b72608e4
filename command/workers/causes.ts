import { otherCausesOf, type OtherCauses } from '../../domain/causation.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';

/** Which requests what a worker does because of events began with: so that all of it is found by them. */

type Log = Pick<EventStore, 'readStream'>;

/**
 * Events of a stream that are looked at. What is looked for is nearly always among the first page; events may be large, so
 * the others are read only behind that.
 */
const PAGES = [10, 40] as const;
/** Requests beside the one that what is done belongs to. */
const OTHERS_MAX = 20;

/** @param upTo revision of the first. Default: the last there is */
async function* newest(
  store: Log,
  stream: string,
  { pages = PAGES, upTo }: { readonly pages?: readonly number[]; readonly upTo?: number | undefined } = {},
): AsyncGenerator<RecordedEvent> {
  let from = upTo;
  for (const limit of pages) {
    let read = 0;
    for await (const event of store.readStream(stream, {
      direction: 'backward',
      limit,
      ...(from !== undefined && { from }),
    })) {
      yield event;
      read += 1;
      from = event.revision - 1;
    }
    if (read < limit || from === -1) return;
  }
}

/** The request that a stream's last event belongs to; undefined for a stream without one. */
export const lastCorrelation = async (store: Log, stream: string): Promise<string | undefined> => {
  for await (const { metadata } of newest(store, stream, { pages: [1] })) return metadata.correlationId;
  return undefined;
};

/** The newest event of some types; undefined when it is none of the newest of the stream. */
export const lastOf = async (
  store: Log,
  stream: string,
  types: readonly string[],
): Promise<RecordedEvent | undefined> => {
  for await (const event of newest(store, stream)) {
    if (types.includes(event.type)) return event;
  }
  return undefined;
};

/** The requests that what is done follows from. */
export interface CausesOfWork {
  /** That it belongs to; undefined when there is none among the newest events. */
  readonly correlationId: string | undefined;
  /** The newest of the others. */
  readonly alsoCausedBy: OtherCauses;
}

/** Which events of some streams something is done because of. */
export interface Occasions {
  readonly streams: readonly string[];
  /** Whether an event is behind what was looked at before: of each stream, all up to the first that is not. */
  readonly isNew: (event: RecordedEvent) => boolean;
  /** Revision of the last that counts. Default: the last there is. */
  readonly upTo?: number;
  /** Place of the one that what is done belongs to. Default, and where it is not found: the newest one's. */
  readonly named?: string;
  /** Default: every event. */
  readonly isOccasion?: (event: RecordedEvent) => boolean;
  /**
   * Whether an event is what was done because of occasions: those before it that are of a request that it names have had
   * what they were for. Default: none is.
   */
  readonly isAnswer?: (event: RecordedEvent) => boolean;
}

/** As the streams say now: whatever comes behind that has caused nothing that is decided on what was there before. */
export const causesSince = async (store: Log, occasions: Occasions): Promise<CausesOfWork> => {
  const { named } = occasions;
  const { all, open } = await occasionsOf(store, occasions);
  // Of none it would look like something that was asked for: rather of one that has been answered.
  const main = all.find(({ position }) => position === named) ?? open[0] ?? all[0];
  const correlationId = main?.metadata.correlationId;
  return { correlationId, alsoCausedBy: requestsOf(open, correlationId) };
};

/** The same, of what belongs to a request already: the newest of the others. */
export const otherCausesSince = async (
  store: Log,
  occasions: Occasions,
  correlationId: string | undefined,
): Promise<OtherCauses> => requestsOf((await occasionsOf(store, occasions)).open, correlationId);

/** Newest first. */
interface FoundOccasions {
  readonly all: readonly RecordedEvent[];
  /** Those that nothing was done for yet. */
  readonly open: readonly RecordedEvent[];
}

const occasionsOf = async (
  store: Log,
  { streams, isNew, upTo, isOccasion = () => true, isAnswer = () => false }: Occasions,
): Promise<FoundOccasions> => {
  const found: RecordedEvent[] = [];
  const answers: RecordedEvent[] = [];
  for (const stream of streams) {
    for await (const event of newest(store, stream, { upTo })) {
      if (!isNew(event)) break;
      if (isAnswer(event)) answers.push(event);
      if (isOccasion(event)) found.push(event);
    }
  }
  const all = found.sort((one, other) => (one.position < other.position ? 1 : -1));
  return { all, open: all.filter((event) => !answers.some((answer) => answersTo(answer, event))) };
};

const answersTo = (
  answer: RecordedEvent,
  { position, metadata: { correlationId } }: RecordedEvent,
): boolean =>
  position < answer.position &&
  (answer.metadata.correlationId === correlationId ||
    otherCausesOf(answer.data['alsoCausedBy']).some((cause) => cause.correlationId === correlationId));

/** @param but the one that it belongs to */
const requestsOf = (found: readonly RecordedEvent[], but: string | undefined): OtherCauses => {
  const others = new Map<string, string>();
  for (const { metadata } of found) {
    if (metadata.correlationId === but || others.has(metadata.correlationId)) continue;
    others.set(metadata.correlationId, metadata.causationId);
  }
  return [...others]
    .slice(0, OTHERS_MAX)
    .map(([correlationId, causationId]) => ({ correlationId, causationId }));
};
