import { engineConnectionEvents } from '../domain/engines/engine-connection-events.ts';
import type { EngineConnection } from '../domain/engines/engine-connection-resource.ts';
import {
  ENGINE_CONNECTION,
  evolve,
  initialState,
  type EngineConnectionState,
} from '../domain/engines/engine-connection.ts';
import type { Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';

const table: FoldedTable<EngineConnectionState, EngineConnection> = {
  table: 'engine_connections',
  category: ENGINE_CONNECTION,
  events: engineConnectionEvents,
  initialState,
  evolve,
  live: (state) => (state.status === 'none' ? undefined : state),
  place: ({ customerId, slotId }) => ({ customerId, id: slotId }),
  columns: [
    { name: 'status', type: 'text', value: ({ status }) => status },
    { name: 'secret_id', type: 'uuid', value: ({ secretId }) => secretId },
  ],
};

/** The read model behind an account's connections to creative engines. */
export const engineConnectionsProjection: Projection = {
  name: 'engine-connections',
  categories: [ENGINE_CONNECTION],
  tables: [table.table],
  apply: async (client, events) => void (await applyFolded(client, table, events)),
};
