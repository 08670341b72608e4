import type { SchemaVersions } from './event-versions.ts';
import type { StorableEvent } from './recorded-domain-event.ts';

/** What the kernel needs of an aggregate; the domain's deciders have this shape. */
export interface Aggregate<State, Command, Event extends StorableEvent, Refusal> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
  readonly decide: (
    command: Command,
    state: State,
  ) => { readonly events: readonly Event[] } | { readonly refused: Refusal };
}

export interface AggregateType<State, Command, Event extends StorableEvent, Refusal> {
  readonly decider: Aggregate<State, Command, Event, Refusal>;
  readonly events: SchemaVersions;
  /** Raised with every change of what `evolve`, or an upcaster, makes of events that are stored. Default 1. */
  readonly foldVersion?: number;
}
