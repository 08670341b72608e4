import type { SchemaVersions } from './event-versions.ts';
import type { StorableEvent } from './recorded-domain-event.ts';

export interface Fold<State, Event extends StorableEvent> {
  readonly events: SchemaVersions;
  /** Increase it when `evolve` or an upcaster changes: older snapshots are then ignored. Default 1. */
  readonly foldVersion?: number;
  readonly initialState: State;
  /** Pure. Never throws, logs or mutates; an unknown event leaves the state unchanged. */
  readonly evolve: (state: State, event: Event) => State;
}

export interface NamedFold<State, Event extends StorableEvent, Id, None extends State> extends Fold<
  State,
  Event
> {
  /** Contains the account, so that no account can reach another account's stream. */
  readonly stream: (customerId: number, id: Id) => string;
  readonly initialState: None;
}

export interface Decider<State, Command, Event extends StorableEvent, Refusal> extends Fold<State, Event> {
  readonly decide: (
    command: Command,
    state: State,
  ) => { readonly events: readonly Event[] } | { readonly refused: Refusal };
}

export interface Aggregate<State, Command, Event extends StorableEvent, Refusal, Id, None extends State>
  extends Decider<State, Command, Event, Refusal>, NamedFold<State, Event, Id, None> {
  readonly initialState: None;
}
