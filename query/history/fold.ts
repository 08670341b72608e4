import type { RecordedEvent } from '../../shared/event-store/event-store.ts';

export interface FoldResult<State> {
  readonly state: State;
  /** Number of folded events; 0 before the first. */
  readonly revision: number;
  /** The latest `occurredAt` of the folded events; empty before the first. */
  readonly at: string;
}

export interface Fold<State> {
  /** Unique: stored states are found by it and the stream. */
  readonly name: string;
  readonly initialState: State;
  readonly evolve: (state: State, event: RecordedEvent) => State;
  /** Approximate memory of a state, in bytes. */
  readonly bytesOf: (state: State) => number;
  /** Events between two stored states: a longer distance needs less memory and more reads. */
  readonly every: number;
}

export type Until =
  { readonly revision: number } | { readonly instant: string } | { readonly revision: 'last' };
