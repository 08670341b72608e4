import {
  changesBetween,
  explainNext,
  type Change,
  type Explanation,
} from '../../domain/history/change-resource.ts';
import { toDomainEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { ClientGoneError } from '../../shared/http/errors.ts';
import type { AuditedKind, FoundStream } from '../resources/audited-kind.ts';
import type { FoldCache } from './fold-cache.ts';
import type { Fold, FoldResult, Until } from './fold.ts';
import { jsonBytes, PAGE_BYTES_MAX } from './page-bytes.ts';

export type EventFacts = Omit<RecordedEvent, 'data'>;

export interface RecordedChange {
  readonly event: EventFacts;
  readonly changes: readonly Change[];
  /** Before the event, if it deleted the resource. */
  readonly name: string | undefined;
  readonly id: string | undefined;
}

export interface HistoryPage {
  readonly events: readonly RecordedChange[];
  readonly next: number | undefined;
}

export type ExplainedMembers = Explanation<EventFacts>;

/** All methods throw ClientGoneError when the client is gone. */
export interface StreamHistory {
  stateAt(kind: AuditedKind, stream: string, until: Until): Promise<FoldResult<unknown>>;
  explain(kind: AuditedKind, found: FoundStream, until: Until): Promise<FoldResult<ExplainedMembers>>;
  /** Oldest first: `take` events, or those that fit into `PAGE_BYTES_MAX`. */
  page(kind: AuditedKind, found: FoundStream, after: number, take: number): Promise<HistoryPage>;
  /** At most `limit` events, and the state after the last. */
  eventsBehind(
    kind: AuditedKind,
    stream: string,
    after: number,
    limit: number,
  ): Promise<{ readonly events: readonly RecordedEvent[]; readonly state: unknown }>;
  changesAt(
    kind: AuditedKind,
    found: FoundStream,
    revisions: readonly number[],
  ): Promise<ReadonlyMap<number, RecordedChange>>;
}

/** Short, because a read of any revision folds up to this number of events, and half of it on average. */
const STATE_EVERY = 16;
/** Explanations are large, and mostly requested for the last state. */
const EXPLANATION_EVERY = 256;
const EXPLAINED_MEMBER_BYTES = 150;
const SCANNED_MAX = 2_000;
const NEAR = 2 * STATE_EVERY;

const never = (): boolean => false;

/** @param isClientGone true when the client is gone; default: never */
export const createStreamHistory = (
  store: Pick<EventStore, 'readStream'>,
  kept: FoldCache,
  isClientGone: () => boolean = never,
): StreamHistory => {
  const stateAt: StreamHistory['stateAt'] = (kind, stream, until) =>
    kept.fold(stateFold(kind), stream, until, isClientGone);

  async function* follow(kind: AuditedKind, stream: string, after: number, limit: number) {
    let { state } = await stateAt(kind, stream, { revision: after });
    for await (const event of store.readStream(stream, { from: after, limit })) {
      if (isClientGone()) throw new ClientGoneError();
      const before = state;
      state = kind.evolve(state, toDomainEvent(event, kind.events));
      yield { event, before, state };
    }
  }

  return {
    stateAt,
    explain: async (kind, { stream, part }, until) => {
      const { state, ...place } = await kept.fold(explanationFold(kind, part), stream, until, isClientGone);
      return { ...place, state: state.explanation };
    },
    page: async (kind, { stream, part }, after, take) => {
      const events: RecordedChange[] = [];
      let scanned = 0;
      let bytes = 0;
      const limit = part === undefined ? take + 1 : SCANNED_MAX;
      for await (const { event, before, state } of follow(kind, stream, after, limit)) {
        if (events.length === take) return { events, next: event.revision };
        const change = recordedChange(kind, part, event, before, state);
        scanned += 1;
        if (part !== undefined && change.changes.length === 0) continue;
        bytes += jsonBytes(change.changes);
        if (bytes > PAGE_BYTES_MAX && events.length > 0) return { events, next: event.revision };
        events.push(change);
      }
      return { events, next: scanned === limit ? after + scanned : undefined };
    },
    eventsBehind: async (kind, stream, after, limit) => {
      const events: RecordedEvent[] = [];
      let { state } = await stateAt(kind, stream, { revision: after });
      for await (const { event, state: next } of follow(kind, stream, after, limit)) {
        events.push(event);
        state = next;
      }
      return { events, state };
    },
    changesAt: async (kind, { stream, part }, revisions) => {
      const found = new Map<number, RecordedChange>();
      for (const [first, last] of runsOf(revisions)) {
        for await (const { event, before, state } of follow(kind, stream, first - 1, last - first + 1)) {
          const revision = event.revision + 1;
          if (!revisions.includes(revision)) continue;
          found.set(revision, recordedChange(kind, part, event, before, state));
        }
      }
      return found;
    },
  };
};

const recordedChange = (
  kind: AuditedKind,
  part: string | undefined,
  event: RecordedEvent,
  before: unknown,
  after: unknown,
): RecordedChange => ({
  event,
  changes: changesBetween(kind.audited(before, part), kind.audited(after, part)),
  name: kind.nameOf(after, part) ?? kind.nameOf(before, part),
  id: kind.idOf(after, part) ?? kind.idOf(before, part),
});

const runsOf = (revisions: readonly number[]): readonly (readonly [number, number])[] => {
  const runs: [number, number][] = [];
  for (const revision of [...revisions].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run !== undefined && revision - run[1] <= NEAR) run[1] = revision;
    else runs.push([revision, revision]);
  }
  return runs;
};

/** Two bytes a character. Parts shared with other states are counted in each. */
const bytesOfState = (kind: AuditedKind, state: unknown): number =>
  kind.bytesOf?.(state) ?? 2 * JSON.stringify(state).length;

const stateFold = (kind: AuditedKind): Fold<unknown> => ({
  name: kind.category,
  initialState: kind.initialState,
  evolve: (state, event) => kind.evolve(state, toDomainEvent(event, kind.events)),
  bytesOf: (state) => bytesOfState(kind, state),
  every: STATE_EVERY,
});

interface ExplainedState {
  readonly state: unknown;
  readonly explanation: ExplainedMembers;
}

const explanationFold = (kind: AuditedKind, part: string | undefined): Fold<ExplainedState> => ({
  name: `${kind.resourceType} explained ${part ?? ''}`,
  initialState: { state: kind.initialState, explanation: new Map() },
  evolve: ({ state, explanation }, event) => {
    const next = kind.evolve(state, toDomainEvent(event, kind.events));
    const { data: _, ...facts } = event;
    return { state: next, explanation: explainNext(explanation, kind.audited(next, part), facts) };
  },
  bytesOf: ({ state, explanation }) => bytesOfState(kind, state) + explanation.size * EXPLAINED_MEMBER_BYTES,
  every: EXPLANATION_EVERY,
});
