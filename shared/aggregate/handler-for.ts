import type { EventStore } from '../event-store/event-store.ts';
import type { Aggregate, Fold } from './aggregate.ts';
import { executeCommand, type ExecuteOptions, type Outcome } from './execute-command.ts';
import { loadState, loadStream, type LoadedStream } from './load-stream.ts';
import type { StorableEvent } from './recorded-domain-event.ts';
import type { SnapshotStore } from './snapshots.ts';

/** Where a handler reads and appends. */
export interface CommandStores {
  readonly store: EventStore;
  /** Default: none, whole streams are folded. */
  readonly snapshots?: SnapshotStore;
}

/** What commands know of the request that they belong to. */
export interface CommandRequest extends Required<
  Pick<ExecuteOptions<unknown>, 'isAbandoned' | 'hasRunBefore'>
> {
  readonly commandId: string;
  readonly requestId: string;
  readonly principal: { readonly customerId: number; readonly actor: string };
  readonly onEvents: (run: 'this-run' | 'earlier-run') => void;
}

type HandlerOptions<Command, State> = Omit<
  ExecuteOptions<Command, State>,
  'stream' | 'command' | 'snapshots'
>;

/** How every command of a request is executed: under its id, for its account, as long as its answer is waited for. */
export const ofRequest = ({
  commandId,
  requestId,
  isAbandoned,
  hasRunBefore,
  onEvents,
  principal: { customerId, actor },
}: CommandRequest) => ({
  context: { commandId, customerId, actor, requestId, onEvents },
  isAbandoned,
  hasRunBefore,
});

/**
 * Runs the commands of one kind of aggregate, and loads its states.
 * @param refused what the caller of `run` is told of a refusal. Default: no command is ever refused
 */
export const handlerFor = <State, Command, Event extends StorableEvent, Refusal, Id, None extends State>(
  aggregate: Aggregate<State, Command, Event, Refusal, Id, None>,
  refused: (refusal: Refusal) => Error = (refusal) =>
    new Error(`a command was refused that never is: ${JSON.stringify(refusal)}`),
) => {
  type Existing = Exclude<State, None>;
  const { stream, initialState } = aggregate;
  const existing = (state: State): Existing | undefined =>
    state === initialState ? undefined : (state as Existing);

  /**
   * The command on the account that `options.context` names.
   * @throws AppendOutcomeUnknownError, EventStoreUnavailableError, TooManyConflictsError, CommandAbandonedError
   */
  const execute = (
    { store, snapshots }: CommandStores,
    id: Id,
    command: Command,
    options: HandlerOptions<Command, State>,
  ): Promise<Outcome<State, Refusal>> =>
    executeCommand(store, aggregate, {
      stream: stream(options.context.customerId, id),
      command,
      ...(snapshots && { snapshots }),
      ...options,
    });

  /** @throws what `refused` makes of a refusal */
  const resultOf = (outcome: Outcome<State, Refusal>): Existing => {
    if (outcome.outcome === 'refused') throw refused(outcome.refusal);
    const state = existing(outcome.state);
    if (state === undefined) throw new Error('a command on what does not exist is refused');
    return state;
  };

  /** The stream up to its last event. */
  const loadAt = (
    { store, snapshots }: CommandStores,
    customerId: number,
    id: Id,
  ): Promise<LoadedStream<State>> => loadStream(store, aggregate, stream(customerId, id), { snapshots });

  return {
    execute,
    resultOf,
    loadAt,
    /**
     * Runs the command of a request.
     * @returns the state right after it, also when it is repeated later
     * @throws what `refused` makes of a refusal, and as `execute`
     */
    run: async (
      stores: CommandStores,
      id: Id,
      command: Command,
      request: CommandRequest,
    ): Promise<Existing> => resultOf(await execute(stores, id, command, ofRequest(request))),
    /** The same for a command that creates: without an earlier run of it the stream cannot exist and is not read. */
    create: async (
      stores: CommandStores,
      id: Id,
      command: Command,
      request: CommandRequest,
    ): Promise<Existing> => {
      const isNew = !(await request.hasRunBefore());
      return resultOf(await execute(stores, id, command, { ...ofRequest(request), isNew }));
    },
    /** As its stream says now; undefined when there is none. For answers that must not wait for a read model. */
    load: (stores: CommandStores, customerId: number, id: Id): Promise<Existing | undefined> =>
      loadState(stores, aggregate, customerId, id),
    /**
     * What an earlier run of the request has made of it: then nothing that is needed before the command is needed any
     * more. Undefined when none got so far.
     */
    doneBefore: async (
      stores: CommandStores,
      id: Id,
      request: CommandRequest,
    ): Promise<Existing | undefined> => {
      const after = await stateAfter(stores, aggregate, stream(request.principal.customerId, id), request);
      return after && existing(after.state);
    },
  };
};

/** The state right behind the events that an earlier run of the request has left; undefined without any. */
const stateAfter = async <State, Event extends StorableEvent>(
  { store, snapshots }: CommandStores,
  fold: Fold<State, Event>,
  stream: string,
  { commandId, hasRunBefore, onEvents, principal: { customerId } }: CommandRequest,
): Promise<{ readonly state: State } | undefined> => {
  if (!(await hasRunBefore())) return undefined;
  const { afterCommand } = await loadStream(store, fold, stream, { commandId, snapshots, hasRunBefore });
  if (afterCommand === undefined) return undefined;
  // That run may have ended before its write was marked for the reads of the account.
  await store.ensureMarked(customerId, afterCommand.position, stream);
  onEvents('earlier-run');
  return afterCommand;
};
