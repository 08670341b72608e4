import { BACKWARDS, END, EventStoreDBClient } from '@eventstore/db-client';
import { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { settled } from '../../async/timeout.ts';
import { forEndpoint, optionOf, withOption, type Endpoint } from './connection-string.ts';
import { ChannelClosedError } from './failure.ts';
import { collect } from './read-events.ts';

/** Members of the client that are not part of its public type. `eventstoredb-client` tests pin them. */
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
/** `ConnectivityState.SHUTDOWN` of gRPC, which is loaded by the client only. */
const SHUTDOWN = 4;

/**
 * A client of one node, with one channel for its whole life, that appends by unary calls only.
 *
 * - Batch appends (`supports`) share one stream without a deadline, need the clocks of both sides to agree, fail
 *   together when one is malformed, and throw an uncaught exception on a late reply.
 * - The client's `handleError` closes the channel beneath calls that are on their way to it. The connection decides
 *   which node to use, so the client must not.
 * - The client's `execute` awaits its channel and then starts the append inside `new Promise(async …)`. If the channel
 *   was closed in between, the append never settles and its error is an unhandled rejection, which ends the process.
 *   Here the check and the start are one synchronous step: a closed channel is a `ChannelClosedError`, and nothing was
 *   sent.
 *
 * gRPC keeps one connection for all channels that are alike, and with it the back-off of its failures, which grows to
 * two minutes. A channel with another keepalive time is not alike.
 * @param generation another number for each client of the same node
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

/** Resolves when the node has answered a read that only a leader answers. @throws what the read throws */
export const assertLeads = async (client: EventStoreDBClient, withinMs: number): Promise<void> => {
  await collect(
    client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true }),
    withinMs,
  );
};

/** The addresses of all nodes of the cluster, as this node knows them. @throws what the call throws */
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

/** Cancels the client's calls and closes its connection; bounded, as `dispose` may wait for ever. */
export const hangUp = async (client: EventStoreDBClient): Promise<void> => {
  const goodbye = Promise.all([
    client.dispose(),
    internalsOf(client)
      .getChannel()
      .then((channel) => channel.close()),
  ]);
  await settled(GOODBYE_MS, goodbye);
};
