import { BACKWARDS, END, EventStoreDBClient } from '@eventstore/db-client';
import { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { settled } from '../../async/timeout.ts';
import { forEndpoint, optionOf, withOption, type Endpoint } from './connection-string.ts';
import { ChannelClosedError } from './failure.ts';
import { collect } from './read-events.ts';

/** Non-public members. The `eventstoredb-client` tests pin them. */
export interface ClientInternals {
  supports(): Promise<boolean>;
  handleError(): Promise<void>;
  execute<S extends Stub, T>(StubClass: StubOf<S>, name: string, action: (stub: S) => Promise<T>): Promise<T>;
  getGRPCClient<S extends Stub>(StubClass: StubOf<S>, name: string): Promise<S>;
  getChannel(): Promise<{ close(): void }>;
  callArguments(options: { readonly deadline: number }): [metadata: ReadCall[1], options: ReadCall[2]];
}
type ReadCall = Parameters<GossipClient['read']>;
interface Stub {
  getChannel(): { getConnectivityState(tryToConnect: boolean): number };
}
type StubOf<S> = new (...args: never[]) => S;

export const internalsOf = (client: EventStoreDBClient): ClientInternals =>
  client as unknown as ClientInternals;

const KEEP_ALIVE_MS = 10_000;
const GOODBYE_MS = 1_000;
/** `ConnectivityState.SHUTDOWN` of gRPC, which is a dependency of the client only. */
const SHUTDOWN = 4;

/**
 * One node, one channel for its whole life. Replaces `supports`: batch appends share one stream without a
 * deadline, need synchronised clocks, and throw an uncaught exception on a late reply. Replaces
 * `handleError`, which closes the channel while other calls are about to use it, and `execute`: if the
 * channel closes before an append starts, the append never settles and its error ends the process. gRPC
 * shares a connection and its back-off between channels with equal options, so the keepalive time varies.
 * @param generation different for each client of the same node
 */
export const createNodeClient = (
  connectionString: string,
  endpoint: Endpoint,
  generation: number,
): EventStoreDBClient => {
  const keepAliveMs = optionOf(connectionString, 'keepAliveInterval', KEEP_ALIVE_MS);
  const varied = keepAliveMs < 0 ? keepAliveMs : keepAliveMs + (generation % 1_000);
  const client = EventStoreDBClient.connectionString(
    withOption(forEndpoint(connectionString, endpoint), 'keepAliveInterval', varied),
  );
  const internals = internalsOf(client);
  const execute: ClientInternals['execute'] = async (StubClass, name, action) => {
    const stub = await internals.getGRPCClient(StubClass, name);
    if (stub.getChannel().getConnectivityState(false) === SHUTDOWN) throw new ChannelClosedError();
    return action(stub);
  };
  const replaced: Partial<ClientInternals> = {
    supports: async () => false,
    handleError: async () => undefined,
    execute,
  };
  Object.assign(client, replaced);
  return client;
};

/** Only a leader answers this read. @throws its error */
export const assertLeads = async (client: EventStoreDBClient, withinMs: number): Promise<void> => {
  await collect(
    client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true }),
    withinMs,
  );
};

export const membersOf = (client: EventStoreDBClient, withinMs: number): Promise<readonly Endpoint[]> => {
  const internals = internalsOf(client);
  return internals.execute(
    GossipClient,
    'gossip',
    (stub) =>
      new Promise((resolve, reject) => {
        const [metadata, options] = internals.callArguments({ deadline: withinMs });
        stub.read(new shared.Empty(), metadata, options, (error, info) => {
          if (error !== null) return reject(error);
          const endpoints = info.getMembersList().map((member) => member.getHttpEndPoint());
          resolve(
            endpoints
              .filter((endpoint) => endpoint !== undefined)
              .map((endpoint) => ({ address: endpoint.getAddress(), port: endpoint.getPort() })),
          );
        });
      }),
  );
};

/** Bounded, because `dispose` may never settle. */
export const closeClient = async (client: EventStoreDBClient): Promise<void> => {
  const goodbye = Promise.all([
    client.dispose(),
    internalsOf(client)
      .getChannel()
      .then((channel) => channel.close()),
  ]);
  await settled(GOODBYE_MS, goodbye);
};
