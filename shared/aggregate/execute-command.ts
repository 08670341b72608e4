import { createOneAtATime, type OneAtATime } from '../async/limit.ts';
import {
  EventStoreUnavailableError,
  WrongExpectedRevisionError,
  type EventStore,
  type Position,
} from '../event-store/event-store.ts';
import { backoffMs, sleep } from '../async/backoff.ts';
import { failpoint } from '../async/failpoints.ts';
import type { CommandContext } from './command-context.ts';
import type { Decider } from './aggregate.ts';
import { knownStreamsOf } from './known-streams.ts';
import { loadStream, type LoadedStream } from './load-stream.ts';
import { toNewEvents, type StorableEvent } from './recorded-domain-event.ts';
import type { SnapshotStore } from './snapshots.ts';

export type Outcome<State, Refusal> =
  | {
      readonly outcome: 'done';
      readonly state: State;
      readonly position?: Position;
      /** Of the last event that the state is made of; absent without one. */
      readonly revision?: number;
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** Lost races against other writers of the same stream before a command gives up. */
const ATTEMPTS_MAX = 32;
const CONFLICT_BACKOFF = { baseMs: 2, capMs: 40 };

/** Less than a request may take, so that who gives up knows that nothing was written. */
const TURNS = {
  waitMsMax: 2_500,
  waitingMax: 1_000,
  tooBusy: (stream: string) => new EventStoreUnavailableError(`too many commands wait for ${stream}`),
};
const turnsOf = new WeakMap<EventStore, OneAtATime>();

/**
 * The commands of one stream take turns within this process. Without that N writers of one stream make N appends
 * on the same revision, each in a batch of its own, for one that is accepted: 50 at once took more than 3 s, and
 * of 100 only 19 were done by then. Writers in other processes still meet as conflicts.
 */
const inTurn = <T>(store: EventStore, stream: string, work: () => Promise<T>): Promise<T> => {
  const take = turnsOf.get(store) ?? createOneAtATime(TURNS);
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

export interface ExecuteOptions<Command, State = never> {
  readonly stream: string;
  readonly command: Command;
  readonly context: CommandContext;
  /** True when the stream cannot exist yet (a fresh id): spares reading it. */
  readonly isNew?: boolean;
  /**
   * The stream as it was a moment ago, when it certainly held no event of this command: spares reading it, too. What has
   * come since is met as a lost race; a decision that appends nothing is made on the stream itself.
   */
  readonly known?: Pick<LoadedStream<State>, 'state' | 'revision' | 'correlationId'> | undefined;
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
  decider: Decider<State, Command, Event, Refusal>,
  options: ExecuteOptions<Command, State>,
): Promise<Outcome<State, Refusal>> =>
  options.isNew === true
    ? decideAndAppend(store, decider, options)
    : inTurn(store, options.stream, () => decideAndAppend(store, decider, options));

const never = (): boolean => false;

const decideAndAppend = async <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  decider: Decider<State, Command, Event, Refusal>,
  options: ExecuteOptions<Command, State>,
): Promise<Outcome<State, Refusal>> => {
  const { stream, command, context, isNew = false, pause = sleep, isAbandoned = never } = options;
  const { snapshots, hasRunBefore = async () => true } = options;
  const { commandId } = context;
  const seen = knownStreamsOf(store);
  const load = async (): Promise<LoadedStream<State>> => {
    const loaded = await loadStream(store, decider, stream, { commandId, snapshots, hasRunBefore });
    seen.keep(stream, decider, loaded);
    return loaded;
  };
  let known: LoadedStream<State> | undefined = isNew
    ? emptyStream<State>(decider.initialState)
    : wouldAppend(decider, command, options.known ?? seen.without(commandId, stream, decider));
  let hasTried = false;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const loaded = known ?? (await load());
    if (loaded.afterCommand !== undefined) {
      const { requestId, ...after } = loaded.afterCommand;
      await ensureMarked(store, context, stream, after.position);
      // What this run has tried to append may have arrived, although its answer did not.
      const isEarlier = !hasTried || requestId !== context.requestId;
      context.onEvents?.(isEarlier ? 'earlier-run' : 'this-run');
      return { outcome: 'done', ...after };
    }
    const decision = decider.decide(command, loaded.state);
    if ('refused' in decision) return { outcome: 'refused', refusal: decision.refused };
    if (decision.events.length === 0) {
      await ensureMarked(store, context, stream, loaded.position);
      const { state, revision } = loaded;
      return { outcome: 'done', state, ...(typeof revision === 'number' ? { revision } : {}) };
    }
    if (isAbandoned()) throw new CommandAbandonedError(`a command of ${stream} was begun too late`);
    try {
      const events = toNewEvents(decision.events, belonging(context, loaded), decider.events);
      failpoint('before-append');
      hasTried = true;
      const { position, revision, repeated } = await store.append(stream, events, loaded.revision, {
        mayBeRepeat: hasRunBefore,
      });
      failpoint('after-append');
      if (!repeated) {
        context.onEvents?.('this-run');
        const state = decision.events.reduce(decider.evolve, loaded.state);
        seen.keep(stream, decider, { state, revision, ...followedBy(loaded, context) });
        return { outcome: 'done', state, position, revision };
      }
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError)) throw error;
      await pause(backoffMs(attempt, CONFLICT_BACKOFF));
    }
    // Either somebody else was faster, or an earlier run of this very command was: its events are what counts,
    // not the ones decided just now, whose times differ.
    known = undefined;
  }
  throw new TooManyConflictsError(`${ATTEMPTS_MAX} attempts to write ${stream} met newer events`);
};

/** What would change nothing, or is refused, may be so only of what was. */
const wouldAppend = <State, Command, Event extends StorableEvent, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  command: Command,
  known: LoadedStream<State> | undefined,
): LoadedStream<State> | undefined => {
  if (known === undefined) return undefined;
  const decision = decider.decide(command, known.state);
  return 'events' in decision && decision.events.length > 0 ? known : undefined;
};

/** A command that goes on with what others have begun belongs to that. */
const belonging = (
  context: CommandContext,
  { correlationId }: Pick<LoadedStream<unknown>, 'correlationId'>,
): CommandContext =>
  context.continues === true && correlationId !== undefined ? { ...context, correlationId } : context;

/** Correlation and commands of a stream after an append by this command. */
const followedBy = (
  loaded: Pick<LoadedStream<unknown>, 'correlationId' | 'commands'>,
  context: CommandContext,
): Pick<LoadedStream<unknown>, 'correlationId' | 'commands'> => {
  const { commandId, requestId, correlationId = requestId } = belonging(context, loaded);
  const commands = loaded.commands && new Set([...loaded.commands, commandId]);
  return { correlationId, ...(commands && { commands }) };
};

/** An answer that shows events which this run has not appended: whoever did may have ended before its own answer. */
const ensureMarked = async (
  store: EventStore,
  { customerId }: CommandContext,
  stream: string,
  position: Position | undefined,
): Promise<void> => {
  if (position !== undefined) await store.ensureMarked(customerId, position, stream);
};

const emptyStream = <State>(state: State): LoadedStream<State> => ({
  state,
  revision: 'no-stream',
  commands: new Set(),
});
