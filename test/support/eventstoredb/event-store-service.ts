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
import { accessRefusal, type Users } from './access.ts';
import { createEventLog, type EventLog, type ProposedEvent } from './event-log.ts';
import { createFaultQueue, type CallKind, type Drop, type FaultQueue } from './faults.ts';
import { cancelled, consumerTooSlow, unavailable } from './grpc-status.ts';
import type { Member, NodeContext } from './node-context.ts';
import { handlePeers, peerService } from './peer-calls.ts';
import { handleRead } from './read-call.ts';
import type { Replication } from './replication.ts';
import { leadershipRefusal, type NodeRole } from './node-role.ts';

export interface EventStoreServiceOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** The log to serve: from an earlier service, or from another node of the cluster. */
  readonly log?: EventLog;
  /** In bytes. Default: 1 MiB. */
  readonly maxAppendSize?: number;
  /** Announced methods of Streams, in lower case. 'unimplemented' as on old servers. */
  readonly features?: readonly string[] | 'unimplemented';
  /** PEM files for TLS. Default: no TLS. */
  readonly tls?: { readonly key: string; readonly certificate: string };
  /** Default: all calls are allowed. */
  readonly users?: Users;
  /** Default: a leader without a cluster. */
  readonly nodeRole?: NodeRole;
  /** For one node in a cluster of processes; `log` is then its committed log. */
  readonly replication?: Replication;
  /** Delay before an append is committed, and again before it is answered. Default: 0. */
  readonly appendDelayMs?: () => number;
  /** Delay before a gossip request is answered. Default: 0. */
  readonly gossipDelayMs?: () => number;
}

export interface ServiceFaults extends Pick<FaultQueue, 'inject' | 'clear'> {
  /** Ends all open subscriptions. @returns their number */
  dropSubscriptions(how: Drop): number;
  /** Resets all connections. @returns their number */
  resetConnections(): number;
  /** From now on, larger appends are refused. */
  refuseAbove(bytes: number): void;
  /** Sets the members that gossip reports. */
  gossip(members: readonly Member[]): void;
}

export interface EventStoreService {
  readonly url: string;
  readonly port: number;
  readonly log: EventLog;
  readonly faults: ServiceFaults;
  /** Counts of calls by kind, including calls with a fault. */
  readonly calls: Readonly<Record<CallKind, number>>;
  /** Open subscriptions. */
  readonly subscriptions: number;
  readonly connections: number;
  /** Sets the node's role. As on the server, subscriptions stay open. */
  setRole(nodeRole: NodeRole): void;
  /** Events appended while deposed. `setRole` discards them when the node is no longer deposed. */
  readonly tail: readonly ProposedEvent[];
  /** Accepts calls, but does not process them until `thaw`, like a stopped process. */
  freeze(): void;
  thaw(): void;
  /** Cuts all connections and frees the port. The log remains. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const MAX_APPEND_BYTES = 1_048_576;
const MAX_MESSAGE_BYTES = 16 * 1_048_576;

const dropStatus = { end: undefined, cancelled, 'too-slow': consumerTooSlow, unavailable };

/** A socket that is shutting down refuses a reset and would otherwise never close. */
const reset = (socket: Socket): void => {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
};

const createGrpcServer = (context: NodeContext, replication: Replication | undefined): Server => {
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
  if (replication !== undefined) server.addService(peerService, handlePeers(replication));
  return server;
};

/**
 * A single EventStoreDB node in memory, for tests of a client over real gRPC. It decides and answers like the public
 * source of the server (24.x). So these tests show how a client uses the protocol, not compatibility with a real
 * server.
 */
export const startEventStoreService = async ({
  port = 0,
  host = HOST,
  log = createEventLog(),
  maxAppendSize = MAX_APPEND_BYTES,
  features = ['batchappend'],
  tls,
  users,
  nodeRole = { role: 'leader' },
  replication,
  appendDelayMs = () => 0,
  gossipDelayMs = () => 0,
}: EventStoreServiceOptions = {}): Promise<EventStoreService> => {
  const queue = createFaultQueue();
  const sockets = new Map<string, Socket>();
  const timers = new Set<NodeJS.Timeout>();
  const held: (() => void)[] = [];
  const outOfTouch: (() => void)[] = [];
  const wake = (): void => {
    for (const run of outOfTouch.splice(0)) run();
  };
  let isFrozen = false;
  const resetAll = (): number => {
    const all = [...sockets.values()];
    all.forEach(reset);
    return all.length;
  };
  const context: NodeContext = {
    log,
    replication,
    faults: queue,
    maxAppendBytes: maxAppendSize,
    features: features === 'unimplemented' ? undefined : features,
    members: [],
    subscriptions: new Set(),
    nodeRole,
    tail: [],
    whenInTouch: () => {
      if (!isFrozen && context.nodeRole.role !== 'deposed') return undefined;
      return new Promise((resolve) => outOfTouch.push(resolve));
    },
    appendDelayMs,
    gossipDelayMs,
    whenThawed: (run) => {
      if (isFrozen) held.push(run);
      else run();
    },
    admit: (call, run, refuse, isReadOfAll = false) =>
      context.whenThawed(() => {
        const refusal =
          (users && accessRefusal(users, log, call.metadata, isReadOfAll)) ??
          leadershipRefusal(context.nodeRole, call.metadata);
        if (refusal === undefined) run();
        else refuse(refusal);
      }),
    reset: (peer) => {
      const socket = sockets.get(peer);
      if (socket !== undefined) reset(socket);
    },
    isGone: (peer) => sockets.get(peer)?.destroyed ?? true,
    later: (run, delayMs) => {
      if (delayMs === 0) return run();
      const timer = setTimeout(() => {
        timers.delete(timer);
        run();
      }, delayMs);
      timers.add(timer);
    },
  };
  const server = createGrpcServer(context, replication);
  const injector = server.createConnectionInjector(
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [
          { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) },
        ]),
  );
  const listener = createServer({ noDelay: true }, (socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.on('close', () => sockets.delete(peer)).on('error', () => socket.destroy());
    injector.injectConnection(socket);
  });
  listener.listen(port, host);
  await once(listener, 'listening');
  const { port: bound } = listener.address() as AddressInfo;
  context.members = [{ host: HOST, port: bound, state: 'leader' }];
  const leave = log.serve();

  return {
    url: `esdb://${HOST}:${bound}?tls=${tls !== undefined}`,
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
    setRole: (next) => {
      context.nodeRole = next;
      if (next.role === 'deposed') context.log = log.copy();
      else {
        context.log = log;
        context.tail.length = 0;
      }
      wake();
    },
    tail: context.tail,
    freeze: () => {
      isFrozen = true;
    },
    thaw: () => {
      isFrozen = false;
      for (const run of held.splice(0)) run();
      wake();
    },
    get subscriptions() {
      return context.subscriptions.size;
    },
    get connections() {
      return sockets.size;
    },
    close: async () => {
      leave();
      wake();
      for (const timer of timers) clearTimeout(timer);
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets.values()) socket.destroy();
      server.forceShutdown();
      await closed;
    },
  };
};
