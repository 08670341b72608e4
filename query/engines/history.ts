import { z } from 'zod';
import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { engineConnectionEvents } from '../../domain/engines/events.ts';
import {
  connectionIdOf,
  engineConnectionResource,
  mappedAdvertisers,
  shownConnectionId,
  type ConnectionOffsets,
  type EngineConnection,
} from '../../domain/engines/resource.ts';
import {
  ENGINE_CONNECTION,
  engineConnectionFold,
  engineConnectionStream,
} from '../../domain/engines/engine-connection.ts';
import { creativeEngineOf } from '../../domain/engines/creative-engines.ts';
import { engineConnectionList, slotIdOf } from './routes.ts';
import { auditedKind, type RequestParams, type Moment } from '../resources/audited-kind.ts';
import { notFound } from '../../shared/http/errors.ts';
import { pathIntegerId, pathTextId } from '../../shared/http/schemas.ts';
import { advertiserKind } from '../advertisers/history.ts';
import { buyer } from '../resources/resource-paths.ts';

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

const connectionThen = async (connection: EngineConnection, asked: RequestParams, then: Moment) => {
  const { accountsOffset = 0, mappingsOffset = 0 } = asked as Partial<ConnectionOffsets>;
  const offsets = { accountsOffset, mappingsOffset };
  const ids = mappedAdvertisers(connection, offsets);
  const states = await then.statesOf(
    advertiserKind,
    ids.map((id) => advertiserStream(then.customerId, id)),
  );
  const names = states.map((state) => advertiserKind.nameOf(state, undefined) ?? '');
  return engineConnectionResource(connection, new Map(ids.map((id, n) => [id, names[n] ?? ''])), offsets);
};

const { initialState: noConnection, evolve: evolveConnection } = engineConnectionFold;

export const connectionKind = auditedKind({
  category: ENGINE_CONNECTION,
  resourceType: 'ENGINE_CONNECTION',
  noun: 'connection',
  events: engineConnectionEvents,
  initialState: { latest: undefined, ids: [] },
  evolve: ({ latest, ids }: Connections, event: Parameters<typeof evolveConnection>[1]): Connections => {
    const next = evolveConnection(latest ?? noConnection, event);
    if (next.status === 'none') return { latest, ids };
    const { connectionId } = next;
    return { latest: next, ids: ids.includes(connectionId) ? ids : [...ids, connectionId] };
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
  sharedLists: [
    {
      route: engineConnectionList,
      streamOf: (customerId, { id }) => {
        if (creativeEngineOf(Number(id)) === undefined) throw notFound('engine');
        return engineConnectionStream(customerId, slotIdOf(customerId, Number(id)));
      },
      all: async ({ latest }, asked, then) =>
        latest?.status === 'connected' ? [await connectionThen(latest, asked, then)] : [],
    },
  ],
});
