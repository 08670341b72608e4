import { z } from 'zod';
import { slotIdOf } from '../command/engines/run-on-connection.ts';
import { engineConnectionEvents } from '../domain/engines/engine-connection-events.ts';
import {
  connectionIdOf,
  shownConnectionId,
  type EngineConnection,
} from '../domain/engines/engine-connection-resource.ts';
import {
  ENGINE_CONNECTION,
  engineConnectionDecider,
  engineConnectionStream,
} from '../domain/engines/engine-connection.ts';
import { auditedKind } from '../query/history/audited-kind.ts';
import { pathIntegerId, pathTextId } from '../shared/http/schemas.ts';
import { buyer } from './places.ts';

/** An account's connections to one engine, one after the other, and which there were. */
interface Connections {
  readonly latest: EngineConnection | undefined;
  readonly ids: readonly string[];
}

const connectionMembers = (connection: EngineConnection) => ({
  id: shownConnectionId(connection.connectionId),
  engineId: connection.engineId,
  status: connection.status,
  maskedKey: connection.maskedKey,
  selectedAccountId: connection.selectedAccountId,
  accounts: connection.accounts,
  accountMappings: connection.mappings.map(({ accountId, advertiserId: mapped }) => ({
    accountId,
    advertiserId: mapped,
  })),
  connectedBy: connection.connectedBy,
  createdAt: connection.createdAt,
  updatedAt: connection.updatedAt,
});

const { initialState: noConnection, evolve: evolveConnection } = engineConnectionDecider;

export const connectionKind = auditedKind({
  category: ENGINE_CONNECTION,
  resourceType: 'ENGINE_CONNECTION',
  noun: 'connection',
  events: engineConnectionEvents,
  decider: {
    initialState: { latest: undefined, ids: [] },
    evolve: ({ latest, ids }: Connections, event: Parameters<typeof evolveConnection>[1]): Connections => {
      const next = evolveConnection(latest ?? noConnection, event);
      if (next.status === 'none') return { latest, ids };
      const { connectionId } = next;
      return { latest: next, ids: ids.includes(connectionId) ? ids : [...ids, connectionId] };
    },
  },
  live: (state: Connections) => (state.latest === undefined ? undefined : state),
  idOf: ({ latest }) => latest && shownConnectionId(latest.connectionId),
  audited: ({ latest }, part) =>
    latest === undefined || (part !== undefined && part !== latest.connectionId)
      ? undefined
      : connectionMembers(latest),
  place: {
    path: `${buyer}/creative-engines/{id}/connections/{connectionId}`,
    params: z.object({ id: pathIntegerId('engine'), connectionId: pathTextId('connection') }),
    tag: 'Creatives',
    find: (customerId, { id, connectionId }) => {
      const part = connectionIdOf(String(connectionId));
      const slotId = slotIdOf(customerId, Number(id));
      return part === undefined ? undefined : { stream: engineConnectionStream(customerId, slotId), part };
    },
    isAt: ({ ids }, _asked, part) => part !== undefined && ids.includes(part),
  },
});
