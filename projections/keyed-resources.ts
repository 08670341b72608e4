import type { ClientBase } from 'pg';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import type { EventSchemas } from './engine/decode-event.ts';
import type { Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';

/** What a row is found by. */
export interface ResourceIdentity {
  readonly customerId: number;
  readonly advertiserId: number;
  /** UUID. */
  readonly id: string;
  /** The buyer's own id of it, unique within the advertiser. */
  readonly key: string;
  readonly status: 'ACTIVE' | 'ARCHIVED';
  readonly createdAt: string;
}

export interface KeyedResources<State, Event> {
  /** Of the read model. */
  readonly name: string;
  /** Its one table, with the columns of `event_sources`. */
  readonly table: string;
  readonly category: string;
  readonly events: EventSchemas;
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
  /** Undefined before the first event. */
  readonly identify: (state: State) => ResourceIdentity | undefined;
}

/**
 * The read model of things that an advertiser has under keys of its own: one row for each stream, the folded state
 * as JSON text and what it is found by.
 */
export const keyedResources = <State, Event>(kind: KeyedResources<State, Event>): Projection => ({
  name: kind.name,
  categories: [kind.category],
  tables: [kind.table],
  apply: async (client, events) => {
    await applyToRows(client, kind, events);
  },
});

/**
 * Brings the rows up to date.
 * @param events of streams of the kind only
 * @returns those that the rows did not hold before
 */
export const applyToRows = async <State, Event>(
  client: ClientBase,
  kind: KeyedResources<State, Event>,
  events: readonly RecordedEvent[],
): Promise<readonly RecordedEvent[]> => {
  const added = new Set(
    (await applyFolded(client, tableOf(kind), events)).flatMap((change) => change.events),
  );
  return events.filter((event) => added.has(event));
};

const tableOf = <State, Event>(kind: KeyedResources<State, Event>): FoldedTable<State, State> => {
  const identityOf = (state: State): ResourceIdentity => {
    const identity = kind.identify(state);
    if (identity === undefined) throw new Error('only what has an identity has a row');
    return identity;
  };
  return {
    ...kind,
    live: (state) => (kind.identify(state) === undefined ? undefined : state),
    place: identityOf,
    columns: [
      {
        name: 'advertiser_id',
        type: 'int4',
        value: (state) => identityOf(state).advertiserId,
        isFixed: true,
      },
      { name: 'key', type: 'text', value: (state) => identityOf(state).key, isFixed: true },
      { name: 'status', type: 'text', value: (state) => identityOf(state).status },
      {
        name: 'created_at',
        type: 'timestamptz',
        value: (state) => identityOf(state).createdAt,
        isFixed: true,
      },
    ],
  };
};
