import {
  Client,
  credentials,
  Metadata,
  type handleUnaryCall,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Message, Replication, ReplicationOptions, Reply } from './replication.ts';

/** Calls between nodes in different processes: JSON in unary calls, on the port for clients. */

const PATH = '/stand-in.Peer/Ask';
const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const fromBytes = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

export const peerService: ServiceDefinition = {
  ask: {
    path: PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: toBytes,
    requestDeserialize: fromBytes,
    responseSerialize: toBytes,
    responseDeserialize: fromBytes,
  },
};

export const handlePeers = (replication: Replication): UntypedServiceImplementation => {
  const ask: handleUnaryCall<unknown, Reply> = (call, callback) =>
    callback(null, replication.answer(call.request));
  return { ask };
};

/** One connection to each peer. It is restored soon after the peer restarts. */
export const createSend = (): ReplicationOptions['send'] => {
  const clients = new Map<string, Client>();
  const clientOf = (peer: string): Client => {
    const known = clients.get(peer);
    if (known !== undefined) return known;
    const client = new Client(peer, credentials.createInsecure(), {
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 300,
    });
    clients.set(peer, client);
    return client;
  };
  return (peer, message, withinMs) =>
    new Promise((resolve, reject) => {
      clientOf(peer).makeUnaryRequest<Message, Reply>(
        PATH,
        toBytes,
        (bytes) => fromBytes(bytes) as Reply,
        message,
        new Metadata(),
        { deadline: Date.now() + withinMs },
        (error, reply) => (reply === undefined ? reject(error ?? new Error('no answer')) : resolve(reply)),
      );
    });
};
