import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { handleAppend } from './append-call.ts';
import { handleBatchAppend } from './batch-append-call.ts';
import { handleFeatures, handleGossip } from './cluster-calls.ts';
import { handleDelete, handleTombstone } from './delete-calls.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import { createFaultQueue, type CallKind, type Drop, type FaultQueue } from './faults.ts';
import { cancelled, consumerTooSlow, unavailable } from './grpc-status.ts';
import type { Member, NodeContext } from './node-context.ts';
import { handleRead } from './read-call.ts';

export interface EventStoreServiceOptions {
  /** 0 or absent: any free one. */
  readonly port?: number;
  /** The log to serve: of a service before this one, or of another node of the same cluster. */
  readonly log?: EventLog;
  /** Bytes; 1 MiB if absent. */
  readonly maxAppendSize?: number;
  /** Methods of Streams that are announced, in lower case; 'unimplemented' as old servers are. */
  readonly features?: readonly string[] | 'unimplemented';
}

export interface ServiceFaults extends Pick<FaultQueue, 'inject' | 'clear'> {
  /** Ends all open subscriptions. @returns how many there were */
  dropSubscriptions(how: Drop): number;
  /** Resets all connections. @returns how many there were */
  resetConnections(): number;
  /** From now on appends of more bytes are refused. */
  refuseAbove(bytes: number): void;
  /** Who is said to be in the cluster from now on. */
  gossip(members: readonly Member[]): void;
}

export interface EventStoreService {
  readonly url: string;
  readonly port: number;
  readonly log: EventLog;
  readonly faults: ServiceFaults;
  /** Calls so far by kind, those that suffered from a fault included. */
  readonly calls: Readonly<Record<CallKind, number>>;
  /** Open at the moment. */
  readonly subscriptions: number;
  readonly connections: number;
  /** Cuts all connections and frees the port. The log stays. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const MAX_APPEND_BYTES = 1_048_576;
const MAX_MESSAGE_BYTES = 16 * 1_048_576;

const dropStatus = { end: undefined, cancelled, 'too-slow': consumerTooSlow, unavailable };

/** A socket that is being shut down refuses to be reset, and would then never be closed at all. */
const reset = (socket: Socket): void => {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
};

const createGrpcServer = (context: NodeContext): Server => {
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
  });
  server.addService(StreamsService, {
    read: handleRead(context),
    append: handleAppend(context),
    batchAppend: handleBatchAppend(context),
    delete: handleDelete(context),
    tombstone: handleTombstone(context),
  });
  server.addService(ServerFeaturesService, { getSupportedMethods: handleFeatures(context) });
  server.addService(GossipService, { read: handleGossip(context) });
  return server;
};

/**
 * An EventStoreDB of one node in memory, for tests of what a client does over real gRPC. It follows the public
 * source of the server (24.x) in what it decides and answers, so passing tests against it are tests of the wire, not
 * of compatibility with a real server.
 */
export const startEventStoreService = async ({
  port = 0,
  log = createEventLog(),
  maxAppendSize = MAX_APPEND_BYTES,
  features = ['batchappend'],
}: EventStoreServiceOptions = {}): Promise<EventStoreService> => {
  const queue = createFaultQueue();
  const sockets = new Map<string, Socket>();
  const timers = new Set<NodeJS.Timeout>();
  const resetAll = (): number => {
    const all = [...sockets.values()];
    all.forEach(reset);
    return all.length;
  };
  const context: NodeContext = {
    log,
    faults: queue,
    maxAppendBytes: maxAppendSize,
    features: features === 'unimplemented' ? undefined : features,
    members: [],
    subscriptions: new Set(),
    reset: (peer) => {
      const socket = sockets.get(peer);
      if (socket !== undefined) reset(socket);
    },
    later: (run, delayMs) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        run();
      }, delayMs);
      timers.add(timer);
    },
  };
  const server = createGrpcServer(context);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createServer({ noDelay: true }, (socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.on('close', () => sockets.delete(peer)).on('error', () => socket.destroy());
    injector.injectConnection(socket);
  });
  listener.listen(port, HOST);
  await once(listener, 'listening');
  const { port: bound } = listener.address() as AddressInfo;
  context.members = [{ host: HOST, port: bound, state: 'leader' }];
  const leave = log.serve();

  return {
    url: `esdb://${HOST}:${bound}?tls=false`,
    port: bound,
    log,
    faults: {
      inject: queue.inject,
      clear: queue.clear,
      dropSubscriptions: (how) => {
        const open = [...context.subscriptions];
        for (const end of open) end(dropStatus[how]);
        return open.length;
      },
      resetConnections: resetAll,
      refuseAbove: (bytes) => {
        context.maxAppendBytes = bytes;
      },
      gossip: (members) => {
        context.members = members;
      },
    },
    calls: queue.calls,
    get subscriptions() {
      return context.subscriptions.size;
    },
    get connections() {
      return sockets.size;
    },
    close: async () => {
      leave();
      for (const timer of timers) clearTimeout(timer);
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets.values()) socket.destroy();
      server.forceShutdown();
      await closed;
    },
  };
};
