/** A fact: past tense, named as the business says it. `occurredAt` is ISO 8601 UTC, taken from the command. */
export interface DomainEvent<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly data: Data;
  readonly occurredAt: string;
}

/** What a command leads to: events to append (none when its effect already holds), or a typed refusal. */
export type Decision<Event, Refusal> = { readonly events: readonly Event[] } | { readonly refused: Refusal };

/** An aggregate: how its state follows from its events, and what it answers to a command. */
export interface Decider<State, Command, Event, Refusal> {
  readonly initialState: State;
  /** Pure. Never throws, logs or mutates; an event it does not know leaves the state as it is. */
  readonly evolve: (state: State, event: Event) => State;
  readonly decide: (command: Command, state: State) => Decision<Event, Refusal>;
}

/** Accepts the command: these events follow. */
export const accept = <Event>(...events: readonly Event[]): { readonly events: readonly Event[] } => ({
  events,
});

/** Refuses the command for a reason its caller can act on. */
export const refuse = <Refusal>(refused: Refusal): { readonly refused: Refusal } => ({ refused });
