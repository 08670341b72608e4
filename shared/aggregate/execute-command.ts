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
      readonly revision?: number;
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

const ATTEMPTS_MAX = 32;
const CONFLICT_BACKOFF = { baseMs: 2, capMs: 40 };

/** Shorter than a request may take, so that the client learns that nothing was written. */
const QUEUE_LIMITS = {
  waitMsMax: 2_500,
  waitingMax: 1_000,
  tooBusy: (stream: string) => new EventStoreUnavailableError(`too many commands wait for ${stream}`),
};
const queuesOf = new WeakMap<EventStore, OneAtATime>();

// Otherwise N writers append at the same revision and one succeeds: 50 commands took more than 3 s.
const runSerially = <T>(store: EventStore, stream: string, work: () => Promise<T>): Promise<T> => {
  const serially = queuesOf.get(store) ?? createOneAtATime(QUEUE_LIMITS);
  queuesOf.set(store, serially);
  return serially(stream, work);
};

/** Nothing was written. */
export class TooManyConflictsError extends Error {
  override readonly name = 'TooManyConflictsError';
}

/** The caller no longer waits. Nothing was written. */
export class CommandAbandonedError extends Error {
  override readonly name = 'CommandAbandonedError';
}

export interface ExecuteOptions<Command, State = never> {
  readonly stream: string;
  readonly command: Command;
  readonly context: CommandContext;
  readonly isNew?: boolean;
  /** A recent state, to save a read. An outdated one causes a conflict. */
  readonly known?: Pick<LoadedStream<State>, 'state' | 'revision' | 'correlationId'> | undefined;
  readonly pause?: (ms: number) => Promise<void>;
  /** Asked right before each append; true throws `CommandAbandonedError`. */
  readonly isAbandoned?: () => boolean;
  readonly snapshots?: SnapshotStore;
  /** Default: that of the context. */
  readonly hasRunBefore?: () => Promise<boolean>;
}

/**
 * Safe to repeat with the same command id on any node: if its events are in the stream, it returns the state
 * right after them. @throws AppendOutcomeUnknownError, EventStoreUnavailableError, TooManyConflictsError,
 * CommandAbandonedError
 */
export const executeCommand = <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  decider: Decider<State, Command, Event, Refusal>,
  options: ExecuteOptions<Command, State>,
): Promise<Outcome<State, Refusal>> =>
  options.isNew === true
    ? decideAndAppend(store, decider, options)
    : runSerially(store, options.stream, () => decideAndAppend(store, decider, options));

const never = (): boolean => false;

const decideAndAppend = async <State, Command, Event extends StorableEvent, Refusal>(
  store: EventStore,
  decider: Decider<State, Command, Event, Refusal>,
  options: ExecuteOptions<Command, State>,
): Promise<Outcome<State, Refusal>> => {
  const { stream, command, context, isNew = false, pause = sleep, isAbandoned = never } = options;
  const { snapshots, hasRunBefore = context.hasRunBefore ?? (async () => true) } = options;
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
      await ensurePositionRecorded(store, context, stream, after.position);
      // An append of this run may have succeeded although its answer was lost.
      const isEarlier = !hasTried || requestId !== context.requestId;
      context.onEvents?.(isEarlier ? 'earlier-run' : 'this-run');
      return { outcome: 'done', ...after };
    }
    const decision = decider.decide(command, loaded.state);
    if ('refused' in decision) return { outcome: 'refused', refusal: decision.refused };
    if (decision.events.length === 0) {
      await ensurePositionRecorded(store, context, stream, loaded.position);
      const { state, revision } = loaded;
      return { outcome: 'done', state, ...(typeof revision === 'number' ? { revision } : {}) };
    }
    if (isAbandoned()) throw new CommandAbandonedError(`a command of ${stream} started too late`);
    try {
      const events = toNewEvents(decision.events, withCorrelation(context, loaded), decider.events);
      failpoint('before-append');
      hasTried = true;
      const { position, revision, repeated } = await store.append(stream, events, loaded.revision, {
        mayBeRepeat: hasRunBefore,
      });
      failpoint('after-append');
      if (!repeated) {
        context.onEvents?.('this-run');
        const state = decision.events.reduce(decider.evolve, loaded.state);
        seen.keep(stream, decider, { state, revision, ...afterAppend(loaded, context) });
        return { outcome: 'done', state, position, revision };
      }
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError)) throw error;
      await pause(backoffMs(attempt, CONFLICT_BACKOFF));
    }
    // The stored events count, also those of an earlier run: their timestamps differ.
    known = undefined;
  }
  throw new TooManyConflictsError(`${ATTEMPTS_MAX} attempts to append to ${stream} found newer events`);
};

/** A decision without events meets no conflict that would reveal an outdated state. */
const wouldAppend = <State, Command, Event extends StorableEvent, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  command: Command,
  known: LoadedStream<State> | undefined,
): LoadedStream<State> | undefined => {
  if (known === undefined) return undefined;
  const decision = decider.decide(command, known.state);
  return 'events' in decision && decision.events.length > 0 ? known : undefined;
};

const withCorrelation = (
  context: CommandContext,
  { correlationId }: Pick<LoadedStream<unknown>, 'correlationId'>,
): CommandContext =>
  context.continues === true && correlationId !== undefined ? { ...context, correlationId } : context;

const afterAppend = (
  loaded: Pick<LoadedStream<unknown>, 'correlationId' | 'commands'>,
  context: CommandContext,
): Pick<LoadedStream<unknown>, 'correlationId' | 'commands'> => {
  const { commandId, requestId, correlationId = requestId } = withCorrelation(context, loaded);
  const commands = loaded.commands && new Set([...loaded.commands, commandId]);
  return { correlationId, ...(commands && { commands }) };
};

/** Another run may have crashed before it wrote the account's position, for which reads wait. */
const ensurePositionRecorded = async (
  store: EventStore,
  { customerId }: CommandContext,
  stream: string,
  position: Position | undefined,
): Promise<void> => {
  if (position !== undefined) await store.ensurePositionRecorded(customerId, position, stream);
};

const emptyStream = <State>(state: State): LoadedStream<State> => ({
  state,
  revision: 'no-stream',
  commands: new Set(),
});
