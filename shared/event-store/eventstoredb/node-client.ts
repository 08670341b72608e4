import { BACKWARDS, END, EventStoreDBClient } from '@eventstore/db-client';
import { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { settled } from '../../async/timeout.ts';
import { forEndpoint, optionOf, withOption, type Endpoint } from './connection-string.ts';
import { ChannelClosedError } from './failure.ts';
import { collect } from './read-events.ts';

/** Non-public members of the client. The `eventstoredb-client` tests pin them. */
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
 * A client of one node, with one channel for its whole life. It appends with unary calls only.
 *
 * - Batch appends (`supports`) share one stream without a deadline, need synchronised clocks, fail together if one is
 *   malformed, and throw an uncaught exception on a late reply.
 * - The client's `handleError` closes the channel while other calls are about to use it. The connection chooses the
 *   node, so the client must not.
 * - The client's `execute` awaits its channel and then starts the append inside `new Promise(async …)`. If the channel
 *   is closed in between, the append never settles and its error is an unhandled rejection, which ends the process.
 *   Here the check and the start are one synchronous step: a closed channel gives `ChannelClosedError`, and nothing is
 *   sent.
 *
 * gRPC shares one connection between channels with equal options, including its back-off, which grows to two minutes.
 * Therefore each channel gets a different keepalive time.
 * @param generation a different number for each client of the same node
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

/** Resolves when the node has answered a read that only a leader answers. @throws any error of the read */
export const assertLeads = async (client: EventStoreDBClient, withinMs: number): Promise<void> => {
  await collect(
    client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true }),
    withinMs,
  );
};

/** Returns the addresses of all cluster members that this node knows. @throws any error of the call */
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

/** Cancels the client's calls and closes its connection. Bounded, because `dispose` may never settle. */
export const hangUp = async (client: EventStoreDBClient): Promise<void> => {
  const goodbye = Promise.all([
    client.dispose(),
    internalsOf(client)
      .getChannel()
      .then((channel) => channel.close()),
  ]);
  await settled(GOODBYE_MS, goodbye);
};
