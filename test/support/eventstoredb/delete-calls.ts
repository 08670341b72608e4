import streams from '@eventstore/db-client/generated/streams_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type {
  DeleteReq,
  DeleteResp,
  TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { CallKind } from './faults.ts';
import { invalidArgument, streamDeleted, wrongExpectedVersion } from './grpc-status.ts';
import { expectedNumber, expectedOf, streamNameOf } from './messages.ts';
import type { NodeContext } from './node-context.ts';
import { executeWithFault } from './execute-with-fault.ts';
import { softDelete, tombstone } from './write-stream.ts';

const deletion =
  <Request extends DeleteReq | TombstoneReq, Response>(
    context: NodeContext,
    kind: CallKind,
    write: typeof softDelete,
    respond: (position: bigint | undefined) => Response,
  ): handleUnaryCall<Request, Response> =>
  (call, callback) => {
    const options = call.request.getOptions();
    if (options === undefined) return callback(invalidArgument('No options were sent.'));
    const stream = streamNameOf(options.getStreamIdentifier());
    const expected = expectedOf(options, options.getRevision());
    const run = (): void =>
      executeWithFault(
        context.faults.take(kind),
        () => write(context.log, stream, expected),
        {
          answer: (result) => {
            if (result.outcome === 'written') callback(null, respond(result.position));
            else if (result.outcome === 'deleted') callback(streamDeleted(stream));
            else callback(wrongExpectedVersion(stream, expectedNumber(expected), result.current));
          },
          fail: callback,
          reset: () => context.reset(call.getPeer()),
        },
        context.later,
      );
    context.admit(call, run, callback);
  };

/** Streams.Delete: a soft deletion. */
export const handleDelete = (context: NodeContext): handleUnaryCall<DeleteReq, DeleteResp> =>
  deletion(context, 'delete', softDelete, (position) =>
    position === undefined
      ? new streams.DeleteResp().setNoPosition(new shared.Empty())
      : new streams.DeleteResp().setPosition(
          new streams.DeleteResp.Position()
            .setCommitPosition(String(position))
            .setPreparePosition(String(position)),
        ),
  );

/** Streams.Tombstone: a permanent deletion. */
export const handleTombstone = (context: NodeContext): handleUnaryCall<TombstoneReq, TombstoneResp> =>
  deletion(context, 'tombstone', tombstone, (position) =>
    position === undefined
      ? new streams.TombstoneResp().setNoPosition(new shared.Empty())
      : new streams.TombstoneResp().setPosition(
          new streams.TombstoneResp.Position()
            .setCommitPosition(String(position))
            .setPreparePosition(String(position)),
        ),
  );
