import { otherCausesOf, type OtherCauses } from '../../domain/causation.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';

/** Finds the requests that caused a worker's action, so that reads by request include the action. */

type Log = Pick<EventStore, 'readStream'>;

/** Page sizes of a backward search. The event is nearly always on the first page, and events may be large. */
const PAGES = [10, 40] as const;
const OTHERS_MAX = 20;

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

export const lastCorrelation = async (store: Log, stream: string): Promise<string | undefined> => {
  for await (const { metadata } of newest(store, stream, { pages: [1] })) return metadata.correlationId;
  return undefined;
};

/** The newest event of the types; undefined when it is not among the newest events. */
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

export interface CausesOfWork {
  readonly correlationId: string | undefined;
  readonly alsoCausedBy: OtherCauses;
}

export interface Occasions {
  readonly streams: readonly string[];
  /** False for events that earlier actions have covered; the first false ends the search in its stream. */
  readonly isNew: (event: RecordedEvent) => boolean;
  readonly upTo?: number;
  /** Position of the event that the action belongs to. Default, and if not found: the newest event. */
  readonly named?: string;
  readonly isOccasion?: (event: RecordedEvent) => boolean;
  /** True for events that record such an action and so settle its requests. Default: none. */
  readonly isAnswer?: (event: RecordedEvent) => boolean;
}

/** Reads the streams now. Later events cannot have caused a decision on the present ones. */
export const causesSince = async (store: Log, occasions: Occasions): Promise<CausesOfWork> => {
  const { named } = occasions;
  const { all, open } = await occasionsOf(store, occasions);
  // Without a request the action would look requested directly, so a settled event is better than none.
  const main = all.find(({ position }) => position === named) ?? open[0] ?? all[0];
  const correlationId = main?.metadata.correlationId;
  return { correlationId, alsoCausedBy: requestsOf(open, correlationId) };
};

export const otherCausesSince = async (
  store: Log,
  occasions: Occasions,
  correlationId: string | undefined,
): Promise<OtherCauses> => requestsOf((await occasionsOf(store, occasions)).open, correlationId);

interface FoundOccasions {
  readonly all: readonly RecordedEvent[];
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
