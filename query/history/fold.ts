import type { RecordedEvent } from '../../shared/event-store/event-store.ts';

export interface FoldResult<State> {
  readonly state: State;
  /** 0 before the first event. */
  readonly revision: number;
  /** The latest `occurredAt`; empty before the first event. */
  readonly at: string;
}

export interface Fold<State> {
  /** Unique: stored states are found by it and the stream. */
  readonly name: string;
  readonly initialState: State;
  readonly evolve: (state: State, event: RecordedEvent) => State;
  readonly bytesOf: (state: State) => number;
  /** Distance of stored states: a longer one needs less memory and more reads. */
  readonly every: number;
}

export type Until =
  { readonly revision: number } | { readonly instant: string } | { readonly revision: 'last' };
