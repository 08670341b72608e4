import type { EventStore } from '../event-store/event-store.ts';
import type { Aggregate, Fold } from './aggregate.ts';
import { executeCommand, type ExecuteOptions, type Outcome } from './execute-command.ts';
import { loadState, loadStream, type LoadedStream } from './load-stream.ts';
import type { StorableEvent } from './recorded-domain-event.ts';
import type { SnapshotStore } from './snapshots.ts';

export interface CommandStores {
  readonly store: EventStore;
  readonly snapshots?: SnapshotStore;
}

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

export const ofRequest = ({
  commandId,
  requestId,
  isAbandoned,
  hasRunBefore,
  onEvents,
  principal: { customerId, actor },
}: CommandRequest) => ({
  context: { commandId, customerId, actor, requestId, hasRunBefore, onEvents },
  isAbandoned,
  hasRunBefore,
});

export const handlerFor = <State, Command, Event extends StorableEvent, Refusal, Id, None extends State>(
  aggregate: Aggregate<State, Command, Event, Refusal, Id, None>,
  refused: (refusal: Refusal) => Error = (refusal) =>
    new Error(`unexpected refusal of a command: ${JSON.stringify(refusal)}`),
) => {
  type Existing = Exclude<State, None>;
  const { stream, initialState } = aggregate;
  const existing = (state: State): Existing | undefined =>
    state === initialState ? undefined : (state as Existing);

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

  const resultOf = (outcome: Outcome<State, Refusal>): Existing => {
    if (outcome.outcome === 'refused') throw refused(outcome.refusal);
    const state = existing(outcome.state);
    if (state === undefined) throw new Error('the command was accepted for a resource that does not exist');
    return state;
  };

  const loadAt = (
    { store, snapshots }: CommandStores,
    customerId: number,
    id: Id,
  ): Promise<LoadedStream<State>> => loadStream(store, aggregate, stream(customerId, id), { snapshots });

  return {
    execute,
    resultOf,
    loadAt,
    /** @throws the error that `refused` returns, and the errors of `executeCommand` */
    run: async (
      stores: CommandStores,
      id: Id,
      command: Command,
      request: CommandRequest,
    ): Promise<Existing> => resultOf(await execute(stores, id, command, ofRequest(request))),
    /** For a command that creates: if it has not run before, the stream cannot exist and is not read. */
    create: async (
      stores: CommandStores,
      id: Id,
      command: Command,
      request: CommandRequest,
    ): Promise<Existing> => {
      const isNew = !(await request.hasRunBefore());
      return resultOf(await execute(stores, id, command, { ...ofRequest(request), isNew }));
    },
    /** For answers that cannot wait for a read model. Undefined if the resource does not exist. */
    load: (stores: CommandStores, customerId: number, id: Id): Promise<Existing | undefined> =>
      loadState(stores, aggregate, customerId, id),
    loadWithRevision: async (stores: CommandStores, customerId: number, id: Id) =>
      existingAt(await loadAt(stores, customerId, id), initialState),
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

const existingAt = <State, None extends State>(
  { state, revision }: LoadedStream<State>,
  none: None,
): { readonly state: Exclude<State, None>; readonly revision: number } | undefined =>
  state === none || typeof revision !== 'number'
    ? undefined
    : { state: state as Exclude<State, None>, revision };

const stateAfter = async <State, Event extends StorableEvent>(
  { store, snapshots }: CommandStores,
  fold: Fold<State, Event>,
  stream: string,
  { commandId, hasRunBefore, onEvents, principal: { customerId } }: CommandRequest,
): Promise<{ readonly state: State } | undefined> => {
  if (!(await hasRunBefore())) return undefined;
  const { afterCommand } = await loadStream(store, fold, stream, { commandId, snapshots, hasRunBefore });
  if (afterCommand === undefined) return undefined;
  // That run may have crashed before it wrote the account's position, for which reads wait.
  await store.ensurePositionRecorded(customerId, afterCommand.position, stream);
  onEvents('earlier-run');
  return afterCommand;
};
