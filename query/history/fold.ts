import type { RecordedEvent } from '../../shared/event-store/event-store.ts';

/** A stream folded up to one of its events. */
export interface Folded<State> {
  readonly state: State;
  /** How many events are in it; 0 before the first. */
  readonly revision: number;
  /** The latest time among them, by the clocks of those who decided them; empty before the first. */
  readonly at: string;
}

/** How a stream becomes a state. */
export interface Fold<State> {
  /** Of this way of folding, unique: what is kept is found by it and the stream. */
  readonly name: string;
  readonly initialState: State;
  readonly evolve: (state: State, event: RecordedEvent) => State;
  /** Memory that a state takes, about. */
  readonly bytesOf: (state: State) => number;
  /** Events between two states that are kept: more of them is less to read later. */
  readonly every: number;
}

/** Up to which event a stream is folded. */
export type Until =
  { readonly revision: number } | { readonly instant: string } | { readonly revision: 'last' };
