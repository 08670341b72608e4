import { WrongExpectedRevisionError, type EventStore, type Position } from '../event-store/event-store.ts';
import { backoffMs, sleep } from '../backoff.ts';
import { failpoint } from '../failpoints.ts';
import type { CommandContext } from './command-context.ts';
import type { AggregateType } from './aggregate.ts';
import { loadStream, type LoadedStream, type LoadOptions } from './load-stream.ts';
import { toNewEvents, type StorableEvent } from './recorded-domain-event.ts';
import type { SnapshotStore } from './snapshots.ts';
import { createTurns, type TakeTurn } from './turns.ts';

export type Outcome<State, Refusal> =
  | { readonly outcome: 'done'; readonly state: State; readonly position?: Position }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** Lost races against other writers of the same stream before a command gives up. */
const ATTEMPTS_MAX = 32;
const CONFLICT_BACKOFF = { baseMs: 2, capMs: 40 };

/** Less than a request may take, so that who gives up knows that nothing was written. */
const TURNS = { waitMsMax: 2_500, waitingMax: 1_000 };
const turnsOf = new WeakMap<EventStore, TakeTurn>();

/**
 * The commands of one stream take turns within this process. Without that N writers of one stream make N appends
 * on the same revision, each in a batch of its own, for one that is accepted: 50 at once took more than 3 s, and
 * of 100 only 19 were done by then. Writers in other processes still meet as conflicts.
 */
const inTurn = <T>(store: EventStore, stream: string, work: () => Promise<T>): Promise<T> => {
  const take = turnsOf.get(store) ?? createTurns(TURNS);
  turnsOf.set(store, take);
  return take(stream, work);
};

/** Every one of `ATTEMPTS_MAX` attempts lost a race for the stream. Definite: nothing was written. */
export class TooManyConflictsError extends Error {
  override readonly name = 'TooManyConflictsError';
}

/** Nobody waits for the command any more, and it was told not to begin. Definite: nothing was written. */
export class CommandAbandonedError extends Error {
  override readonly name = 'CommandAbandonedError';
}

export interface ExecuteOptions<Command> {
  readonly stream: string;
  readonly command: Command;
  readonly context: CommandContext;
  /** True when the stream cannot exist yet (a fresh id): spares reading it. */
  readonly isNew?: boolean;
  /** Waits out a lost race. Default: by the wall clock. */
  readonly pause?: (ms: number) => Promise<void>;
  /** Asked right before each append; true ends the command instead. Default: never. */
  readonly isAbandoned?: () => boolean;
  /** Default: none, the whole stream is folded each time. */
  readonly snapshots?: SnapshotStore;
  /** Whether an earlier run of this command may have left events (`LoadOptions`). Default: it may. */
  readonly hasRunBefore?: () => Promise<boolean>;
}

/**
 * Runs one command: load the stream, fold, decide, append at the revision the decision was made on.
 *
 * Safe to repeat with the same command id, on any node, at any time: a command whose events
 * are in the stream already answers with the state right after them, whatever has happened since. Losing a
 * race means deciding again on the newer state.
 *
 * @throws AppendOutcomeUnknownError, EventStoreUnavailableError, TooManyConflictsError, CommandAbandonedError
 */
export const executeCommand = <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  type: AggregateType<State, Command, Event, Refusal>,
  options: ExecuteOptions<Command>,
): Promise<Outcome<State, Refusal>> =>
  options.isNew === true
    ? decideAndAppend(store, type, options)
    : inTurn(store, options.stream, () => decideAndAppend(store, type, options));

const never = (): boolean => false;

const decideAndAppend = async <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  type: AggregateType<State, Command, Event, Refusal>,
  options: ExecuteOptions<Command>,
): Promise<Outcome<State, Refusal>> => {
  const { stream, command, context, isNew = false, pause = sleep, isAbandoned = never } = options;
  const { snapshots, hasRunBefore = async () => true } = options;
  let assumeNew = isNew;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const loaded = assumeNew
      ? emptyStream<State>(type.decider.initialState)
      : await loadStream(store, type, stream, { commandId: context.commandId, snapshots, hasRunBefore });
    if (loaded.afterCommand !== undefined) {
      await ensureMarked(store, context, stream, loaded.afterCommand.position);
      return { outcome: 'done', ...loaded.afterCommand };
    }
    const decision = type.decider.decide(command, loaded.state);
    if ('refused' in decision) return { outcome: 'refused', refusal: decision.refused };
    if (decision.events.length === 0) {
      await ensureMarked(store, context, stream, loaded.position);
      return { outcome: 'done', state: loaded.state };
    }
    if (isAbandoned()) throw new CommandAbandonedError(`a command of ${stream} was begun too late`);
    try {
      const events = toNewEvents(decision.events, belonging(context, loaded), type.events);
      failpoint('before-append');
      const { position, repeated } = await store.append(stream, events, loaded.revision);
      failpoint('after-append');
      if (!repeated) {
        return {
          outcome: 'done',
          state: decision.events.reduce(type.decider.evolve, loaded.state),
          position,
        };
      }
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError)) throw error;
      await pause(backoffMs(attempt, CONFLICT_BACKOFF));
    }
    // Either somebody else was faster, or an earlier run of this very command was: its events are what counts,
    // not the ones decided just now, whose times differ.
    assumeNew = false;
  }
  throw new TooManyConflictsError(`${ATTEMPTS_MAX} attempts to write ${stream} met newer events`);
};

/** A command that goes on with what others have begun belongs to that. */
const belonging = (
  context: CommandContext,
  { correlationId }: Pick<LoadedStream<unknown>, 'correlationId'>,
): CommandContext =>
  context.continues === true && correlationId !== undefined ? { ...context, correlationId } : context;

/** An answer that shows events which this run has not appended: whoever did may have ended before its own answer. */
const ensureMarked = async (
  store: EventStore,
  { customerId }: CommandContext,
  stream: string,
  position: Position | undefined,
): Promise<void> => {
  if (position !== undefined) await store.ensureMarked(customerId, position, stream);
};

const emptyStream = <State>(state: State): LoadedStream<State> => ({ state, revision: 'no-stream' });

/**
 * Whether an earlier run of the command has done what it asks for: then nothing that is needed before is needed any
 * more, and the command itself answers as it would have.
 */
export const wasDoneBefore = async <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  type: AggregateType<State, Command, Event, Refusal>,
  stream: string,
  options: Required<Pick<LoadOptions, 'commandId' | 'snapshots' | 'hasRunBefore'>>,
): Promise<boolean> => {
  if (!(await options.hasRunBefore())) return false;
  return (await loadStream(store, type, stream, options)).afterCommand !== undefined;
};

/** Folds a stream to its current state; for answers that must not wait for a read model. */
export const loadState = async <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  type: AggregateType<State, Command, Event, Refusal>,
  stream: string,
  snapshots?: SnapshotStore,
): Promise<State> => (await loadStream(store, type, stream, { snapshots })).state;
