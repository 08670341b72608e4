import type { SchemaVersions } from './event-versions.ts';
import type { StorableEvent } from './recorded-domain-event.ts';

/** How a state follows from the events of a stream. */
export interface Fold<State, Event extends StorableEvent> {
  /** The versions of the events that are known. */
  readonly events: SchemaVersions;
  /** Raised with every change of what `evolve`, or an upcaster, makes of events that are stored. Default 1. */
  readonly foldVersion?: number;
  readonly initialState: State;
  /** Pure. Never throws, logs or mutates; an event it does not know leaves the state as it is. */
  readonly evolve: (state: State, event: Event) => State;
}

/** The fold of one kind of aggregate, with the names of its streams. */
export interface NamedFold<State, Event extends StorableEvent, Id, None extends State> extends Fold<
  State,
  Event
> {
  /** Names the stream of one of them; the account is part of the name. */
  readonly stream: (customerId: number, id: Id) => string;
  /** The state of what does not exist. */
  readonly initialState: None;
}

/** A fold that also answers commands: with events to append, none when the effect already holds, or with a refusal. */
export interface Decider<State, Command, Event extends StorableEvent, Refusal> extends Fold<State, Event> {
  readonly decide: (
    command: Command,
    state: State,
  ) => { readonly events: readonly Event[] } | { readonly refused: Refusal };
}

/** What the kernel needs of an aggregate; the aggregates are values of the domain. */
export interface Aggregate<State, Command, Event extends StorableEvent, Refusal, Id, None extends State>
  extends Decider<State, Command, Event, Refusal>, NamedFold<State, Event, Id, None> {
  readonly initialState: None;
}
