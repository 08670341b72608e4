import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import serverFeatures from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type { Empty } from '@eventstore/db-client/generated/shared_pb.js';
import { status, type handleUnaryCall } from '@grpc/grpc-js';
import { randomUUID } from 'node:crypto';
import { ticksOf } from './messages.ts';
import type { NodeContext } from './node-context.ts';
import { executeWithFault } from './execute-with-fault.ts';

const SERVER_VERSION = '24.2.0';

/** ServerFeatures.GetSupportedMethods: the client uses it to choose between batch and unary appends. */
export const handleFeatures =
  (context: NodeContext): handleUnaryCall<Empty, SupportedMethods> =>
  (call, callback) =>
    executeWithFault(
      context.faults.take('features'),
      () => undefined,
      {
        answer: () => {
          const { features } = context;
          if (features === undefined)
            return callback({ code: status.UNIMPLEMENTED, details: 'Unknown method.' });
          const methods = features.map((name) =>
            new serverFeatures.SupportedMethod()
              .setServiceName('event_store.client.streams.streams')
              .setMethodName(name),
          );
          callback(
            null,
            new serverFeatures.SupportedMethods()
              .setEventStoreServerVersion(SERVER_VERSION)
              .setMethodsList(methods),
          );
        },
        fail: callback,
        reset: () => context.reset(call.getPeer()),
      },
      context.later,
    );

/** Gossip.Read: the members of the cluster. */
export const handleGossip =
  (context: NodeContext): handleUnaryCall<Empty, ClusterInfo> =>
  (call, callback) =>
    context.whenThawed(() =>
      executeWithFault(
        context.faults.take('gossip'),
        () => undefined,
        {
          answer: () =>
            context.later(() => {
              const { LEADER, FOLLOWER, UNKNOWN } = gossip.MemberInfo.VNodeState;
              const states = { leader: LEADER, follower: FOLLOWER, unknown: UNKNOWN };
              const members = context.members.map(({ host, port, state, isAlive = true }) =>
                new gossip.MemberInfo()
                  .setInstanceId(new shared.UUID().setString(randomUUID()))
                  .setTimeStamp(ticksOf(Date.now()))
                  .setState(states[state])
                  .setIsAlive(isAlive)
                  .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port)),
              );
              callback(null, new gossip.ClusterInfo().setMembersList(members));
            }, context.gossipDelayMs()),
          fail: callback,
          reset: () => context.reset(call.getPeer()),
        },
        context.later,
      ),
    );
