import { expect } from '@jest/globals';

interface Decider<State, Command, Event, Refusal> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
  readonly decide: (
    command: Command,
    state: State,
  ) => { readonly events: readonly Event[] } | { readonly refused: Refusal };
}

/** The grammar of decider tests: given events, when a command, then events or a refusal. */
export const specificationOf = <State, Command, Event, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
) => ({
  given: (...history: readonly Event[]) => {
    const state = history.reduce(decider.evolve, decider.initialState);
    return {
      when: (command: Command) => {
        const decision = decider.decide(command, state);
        return {
          then: (...events: readonly Event[]): void => expect(decision).toEqual({ events }),
          thenNothing: (): void => expect(decision).toEqual({ events: [] }),
          thenRefused: (refused: Refusal): void => expect(decision).toEqual({ refused }),
          /** The state after the decision. */
          state: (): State => ('events' in decision ? decision.events.reduce(decider.evolve, state) : state),
        };
      },
      state: (): State => state,
    };
  },
});
