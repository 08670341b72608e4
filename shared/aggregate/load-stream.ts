import type { EventStore, ExpectedRevision, Position } from '../event-store/event-store.ts';
import type { Fold, NamedFold } from './aggregate.ts';
import { toDomainEvent, type StorableEvent } from './recorded-domain-event.ts';
import type { SnapshotStore } from './snapshots.ts';

export interface LoadedStream<State> {
  readonly state: State;
  readonly revision: ExpectedRevision;
  readonly position?: Position;
  /** Undefined if a snapshot replaced the last event. */
  readonly correlationId?: string;
  /** Undefined if a snapshot replaced some events. */
  readonly commands?: ReadonlySet<string>;
  readonly afterCommand?: AfterCommand<State>;
}

interface AfterCommand<State> {
  readonly state: State;
  readonly position: Position;
  readonly revision: number;
  readonly requestId: string;
}

export interface LoadOptions {
  readonly commandId?: string;
  readonly snapshots?: SnapshotStore | undefined;
  /** False only if no earlier run can have appended. True folds what a snapshot replaced. Default: false. */
  readonly hasRunBefore?: () => Promise<boolean>;
}

interface Progress<State> {
  state: State;
  /** -1: no event yet. */
  revision: number;
  position: Position | undefined;
  correlationId: string | undefined;
  commands: Set<string> | undefined;
  afterCommand: AfterCommand<State> | undefined;
}

/** A long stream starts at its snapshot. @throws UnknownEventVersionError */
export const loadStream = async <State, Event extends StorableEvent>(
  store: EventStore,
  type: Fold<State, Event>,
  stream: string,
  { commandId, snapshots, hasRunBefore = neverRan }: LoadOptions,
): Promise<LoadedStream<State>> => {
  const { initialState, foldVersion = 1 } = type;
  const fold: Progress<State> = {
    state: initialState,
    revision: -1,
    position: undefined,
    correlationId: undefined,
    commands: new Set(),
    afterCommand: undefined,
  };
  const every = snapshots?.every;
  await foldEvents(store, type, stream, fold, { commandId, limit: every });
  if (snapshots === undefined || every === undefined || fold.revision + 1 < every) return loaded(fold);

  const snapshot = await snapshots.load(stream, foldVersion);
  const start = { ...fold };
  if (snapshot !== undefined && snapshot.revision > fold.revision) {
    fold.state = snapshot.state as State;
    fold.revision = snapshot.revision;
    fold.position = snapshot.position;
    fold.correlationId = undefined;
    fold.commands = undefined;
  }
  const from = fold.revision;
  await foldEvents(store, type, stream, fold, { commandId });
  if (from !== start.revision && fold.afterCommand === undefined && (await hasRunBefore())) {
    // The command's events may be among those that the snapshot replaced.
    await foldEvents(store, type, stream, start, { commandId });
    return loaded(start);
  }
  if (fold.revision - from >= every && fold.position !== undefined) {
    const { revision, position, state } = fold;
    snapshots.save(stream, foldVersion, { revision, position, state });
  }
  return loaded(fold);
};

/** Undefined if the stream has no events. @throws UnknownEventVersionError */
export const loadState = async <State, Event extends StorableEvent, Id, None extends State>(
  { store, snapshots }: { readonly store: EventStore; readonly snapshots?: SnapshotStore | undefined },
  fold: NamedFold<State, Event, Id, None>,
  customerId: number,
  id: Id,
): Promise<Exclude<State, None> | undefined> => {
  const { state } = await loadStream(store, fold, fold.stream(customerId, id), { snapshots });
  return state === fold.initialState ? undefined : (state as Exclude<State, None>);
};

const neverRan = async (): Promise<boolean> => false;

const foldEvents = async <State, Event extends StorableEvent>(
  store: EventStore,
  { evolve, events }: Fold<State, Event>,
  stream: string,
  fold: Progress<State>,
  { commandId, limit }: { readonly commandId?: string | undefined; readonly limit?: number | undefined },
): Promise<void> => {
  const range = { from: fold.revision + 1, ...(limit === undefined ? {} : { limit }) };
  for await (const recorded of store.readStream(stream, range)) {
    fold.state = evolve(fold.state, toDomainEvent(recorded, events) as Event);
    fold.revision = recorded.revision;
    fold.position = recorded.position;
    fold.correlationId = recorded.metadata.correlationId;
    fold.commands?.add(recorded.metadata.causationId);
    if (recorded.metadata.causationId === commandId) {
      const { position, revision } = recorded;
      const { requestId } = recorded.metadata;
      fold.afterCommand = { state: fold.state, position, revision, requestId };
    }
  }
};

const loaded = <State>({
  state,
  revision,
  position,
  correlationId,
  commands,
  afterCommand,
}: Progress<State>): LoadedStream<State> => ({
  state,
  ...(commands === undefined ? {} : { commands }),
  ...(correlationId === undefined ? {} : { correlationId }),
  revision: revision < 0 ? 'no-stream' : revision,
  ...(position === undefined ? {} : { position }),
  ...(afterCommand === undefined ? {} : { afterCommand }),
});
