import type { EventStore, ExpectedRevision, Position } from '../event-store/event-store.ts';
import type { Aggregate, AggregateType } from './aggregate.ts';
import { toDomainEvent, type StorableEvent } from './recorded-domain-event.ts';
import type { SnapshotStore } from './snapshots.ts';

export interface LoadedStream<State> {
  readonly state: State;
  readonly revision: ExpectedRevision;
  /** Of the last event; undefined without one. */
  readonly position?: Position;
  /** Of the last event; undefined when it was not read, but came in a snapshot. */
  readonly correlationId?: string;
  /** Present when this command's events are in the stream: the state right after the last of them. */
  readonly afterCommand?: { readonly state: State; readonly position: Position };
}

/** What a stream is loaded for. */
export interface LoadOptions {
  /** Whose events are looked for. Default: nobody's. */
  readonly commandId?: string;
  readonly snapshots?: SnapshotStore | undefined;
  /**
   * False only when it is certain that no earlier run of the command has left events. Asked when a snapshot was
   * loaded, which hides them; true has the whole stream folded instead.
   */
  readonly hasRunBefore?: () => Promise<boolean>;
}

interface Fold<State> {
  state: State;
  /** -1: no event so far. */
  revision: number;
  position: Position | undefined;
  correlationId: string | undefined;
  afterCommand: { readonly state: State; readonly position: Position } | undefined;
}

/**
 * Folds a stream to its current state. A stream that has grown long is taken from its snapshot and the events
 * behind it: the work does not grow with its history.
 */
export const loadStream = async <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  { decider, foldVersion = 1 }: AggregateType<State, Command, Event, Refusal>,
  stream: string,
  { commandId, snapshots, hasRunBefore = nobodyHas }: LoadOptions,
): Promise<LoadedStream<State>> => {
  const fold: Fold<State> = {
    state: decider.initialState,
    revision: -1,
    position: undefined,
    correlationId: undefined,
    afterCommand: undefined,
  };
  const every = snapshots?.every;
  await foldEvents(store, decider, stream, fold, { commandId, limit: every });
  if (snapshots === undefined || every === undefined || fold.revision + 1 < every) return loaded(fold);

  const snapshot = await snapshots.load(stream, foldVersion);
  const start = { ...fold };
  if (snapshot !== undefined && snapshot.revision > fold.revision) {
    fold.state = snapshot.state as State;
    fold.revision = snapshot.revision;
    fold.position = snapshot.position;
    fold.correlationId = undefined;
  }
  const from = fold.revision;
  await foldEvents(store, decider, stream, fold, { commandId });
  if (from !== start.revision && fold.afterCommand === undefined && (await hasRunBefore())) {
    // Its events may lie between the first ones and the snapshot.
    await foldEvents(store, decider, stream, start, { commandId });
    return loaded(start);
  }
  if (fold.revision - from >= every && fold.position !== undefined) {
    const { revision, position, state } = fold;
    snapshots.save(stream, foldVersion, { revision, position, state });
  }
  return loaded(fold);
};

const nobodyHas = async (): Promise<boolean> => false;

const foldEvents = async <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  { evolve }: Aggregate<State, Command, Event, Refusal>,
  stream: string,
  fold: Fold<State>,
  { commandId, limit }: { readonly commandId?: string | undefined; readonly limit?: number | undefined },
): Promise<void> => {
  const range = { from: fold.revision + 1, ...(limit === undefined ? {} : { limit }) };
  for await (const recorded of store.readStream(stream, range)) {
    fold.state = evolve(fold.state, toDomainEvent(recorded) as Event);
    fold.revision = recorded.revision;
    fold.position = recorded.position;
    fold.correlationId = recorded.metadata.correlationId;
    if (recorded.metadata.causationId === commandId) {
      fold.afterCommand = { state: fold.state, position: recorded.position };
    }
  }
};

const loaded = <State>({
  state,
  revision,
  position,
  correlationId,
  afterCommand,
}: Fold<State>): LoadedStream<State> => ({
  state,
  ...(correlationId === undefined ? {} : { correlationId }),
  revision: revision < 0 ? 'no-stream' : revision,
  ...(position === undefined ? {} : { position }),
  ...(afterCommand === undefined ? {} : { afterCommand }),
});
