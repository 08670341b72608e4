import type { ClientBase } from 'pg';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import type { EventSchemas } from './engine/decode-event.ts';
import type { Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';

export interface ResourceIdentity {
  readonly customerId: number;
  readonly advertiserId: number;
  readonly id: string;
  /** The buyer's own id, unique within the advertiser. */
  readonly key: string;
  readonly status: 'ACTIVE' | 'ARCHIVED';
  readonly createdAt: string;
}

export interface KeyedResources<State, Event> {
  readonly name: string;
  readonly table: string;
  readonly category: string;
  readonly events: EventSchemas;
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
  readonly identify: (state: State) => ResourceIdentity | undefined;
}

/** The read model of an advertiser's resources that have buyer keys: one row for each stream. */
export const keyedResources = <State, Event>(kind: KeyedResources<State, Event>): Projection => ({
  name: kind.name,
  categories: [kind.category],
  tables: [kind.table],
  apply: async (client, events) => {
    await applyToRows(client, kind, events);
  },
});

/** @param events of streams of this category only @returns the events that the rows did not contain before */
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
    if (identity === undefined) throw new Error('a resource without an identity cannot have a row');
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
