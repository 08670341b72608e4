import { z } from 'zod';
import {
  connectionIdOf,
  engineConnectionResource,
  EngineConnectionResource,
  mappedAdvertisers,
  type EngineConnection,
} from '../../domain/engines/resource.ts';
import type { EngineConnectionCommand } from '../../domain/engines/engine-connection.ts';
import { creativeEngineOf } from '../../domain/engines/creative-engines.ts';
import { ConnectEngineBody, MapAccountBody } from '../../domain/engines/input.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathIntegerId, pathTextId, queryOffset } from '../../shared/http/schemas.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';
import { loadAdvertiser } from '../advertisers/handler.ts';
import { connectEngine, forget, type ConnectionWrites } from './commands.ts';
import { runOnConnection, slotIdOf } from './handler.ts';

const path = '/api/v2/buyer/creative-engines/{id}/connections';
const onePath = `${path}/{connectionId}`;
const accountPath = `${onePath}/accounts/{accountId}`;
const write = { tag: 'Creatives', access: 'exchange:write' } as const;
const id = pathIntegerId('engine');
const oneParams = z.object({ id, connectionId: pathTextId('connection') });
const accountParams = z.object({ ...oneParams.shape, accountId: pathTextId('account at the engine') });
const query = z.object({ accountsOffset: queryOffset('Accounts'), mappingsOffset: queryOffset('Mappings') });
type Query = z.output<typeof query>;
const connection = { data: EngineConnectionResource };

export interface EngineWrites extends ConnectionWrites {
  /** In one query. Reads the account's own writes. @throws ReadModelBehindError */
  readonly findAdvertiserNames: (
    customerId: number,
    ids: readonly number[],
  ) => Promise<ReadonlyMap<number, string>>;
}

/** Endpoint 5 of the specification. */
export const engineWriteRoutes = (writes: EngineWrites): readonly Route[] => [
  connectRoute(writes),
  disconnectRoute(writes),
  selectRoute(writes),
  mapRoute(writes),
];

const connectRoute = (writes: EngineWrites): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'connectCreativeEngine',
    description:
      'An account has one live connection to an engine: the first request makes it (201), later ' +
      'ones replace its key (200). The key is checked, stored encrypted and never shown again.',
    summary: "Connect a creative engine with the buyer's own key, or replace the key of the connection",
    params: z.object({ id }),
    query,
    body: ConnectEngineBody,
    bodyIsSecret: true,
    responses: {
      200: { description: 'The existing connection, with the new key', ...connection },
      201: { description: 'The new connection', ...connection },
    },
    handle: async ({ params, query: offsets, body, request }) => {
      const engineId = knownEngine(params.id);
      const connected = await connectEngine(writes, { engineId, ...body }, request);
      const data = await shown(writes, connected.connection, offsets);
      return { status: connected.isNew ? 201 : 200, data };
    },
  });

const disconnectRoute = (writes: EngineWrites): Route =>
  route({
    ...write,
    method: 'delete',
    path: onePath,
    operationId: 'disconnectCreativeEngine',
    summary: 'End a connection and delete its key',
    params: oneParams,
    responses: { 204: { description: 'Ended' } },
    handle: async ({ params, request }) => {
      const command = { type: 'DisconnectEngine', ...onConnection(writes, params) } as const;
      const ended = await run(writes, params, command, request);
      // After the event: in the other order a crash would leave a connection without its key.
      await forget(writes, ended.customerId, ended.secretId);
      return { status: 204 };
    },
  });

const selectRoute = (writes: EngineWrites): Route =>
  route({
    ...write,
    method: 'post',
    path: `${accountPath}/select`,
    operationId: 'selectCreativeEngineAccount',
    summary: 'Select the account of the engine to work with; repeating changes nothing',
    params: accountParams,
    query,
    responses: { 200: { description: 'The connection', ...connection } },
    handle: async ({ params, query: offsets, request }) => {
      const { accountId } = params;
      const command = { type: 'SelectEngineAccount', ...onConnection(writes, params), accountId } as const;
      return { status: 200, data: await shown(writes, await run(writes, params, command, request), offsets) };
    },
  });

const mapRoute = (writes: EngineWrites): Route =>
  route({
    ...write,
    method: 'post',
    path: `${accountPath}/advertiser`,
    operationId: 'mapCreativeEngineAccount',
    summary: 'Assign an account of the engine to an advertiser, replacing the previous assignment',
    params: accountParams,
    query,
    body: MapAccountBody,
    responses: { 201: { description: 'The connection', ...connection } },
    handle: async ({ params, query: offsets, body: { advertiserId }, request }) => {
      const { customerId } = request.principal;
      const advertiser = await loadAdvertiser(writes, customerId, advertiserId);
      if (advertiser === undefined) {
        throw new ApiError({ ...notFound('advertiser').body, field: 'advertiserId' });
      }
      const linkId = derivedId(request.commandId, 'link');
      const command = {
        type: 'MapEngineAccount',
        ...onConnection(writes, params),
        mapping: { linkId, accountId: params.accountId, advertiserId },
        advertiserIsArchived: advertiser.status !== 'ACTIVE',
      } as const;
      return { status: 201, data: await shown(writes, await run(writes, params, command, request), offsets) };
    },
  });

const knownEngine = (engineId: number): number => {
  if (creativeEngineOf(engineId) === undefined) throw notFound('engine');
  return engineId;
};

const onConnection = ({ clock }: ConnectionWrites, params: z.output<typeof oneParams>) => {
  const connectionId = connectionIdOf(params.connectionId);
  if (connectionId === undefined) throw notFound('connection');
  return { connectionId, now: isoTimestamp(clock.now()) };
};

const run = (
  writes: ConnectionWrites,
  params: z.output<typeof oneParams>,
  command: EngineConnectionCommand,
  request: RequestContext,
): Promise<EngineConnection> =>
  runOnConnection(writes, slotIdOf(request.principal.customerId, knownEngine(params.id)), command, request);

const shown = async (
  writes: EngineWrites,
  live: EngineConnection,
  { accountsOffset = 0, mappingsOffset = 0 }: Query,
): Promise<EngineConnectionResource> => {
  const offsets = { accountsOffset, mappingsOffset };
  const ids = mappedAdvertisers(live, offsets);
  const { customerId } = live;
  const names = await writes.findAdvertiserNames(customerId, ids).catch((error: unknown) => {
    if (!(error instanceof ReadModelBehindError)) throw error;
    return namesOfStreams(writes, customerId, ids);
  });
  return engineConnectionResource(live, names, offsets);
};

/** Reads the streams instead: a completed write must not fail because a read model lags. */
const namesOfStreams = async (
  writes: EngineWrites,
  customerId: number,
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> => {
  const names = new Map<number, string>();
  for (const advertiserId of ids) {
    names.set(advertiserId, (await loadAdvertiser(writes, customerId, advertiserId))?.name ?? '');
  }
  return names;
};
