import codes from '@eventstore/db-client/generated/code_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import statuses from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Code } from '@eventstore/db-client/generated/code_pb.js';
import type { Status } from '@eventstore/db-client/generated/status_pb.js';
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { handleBidiStreamingCall } from '@grpc/grpc-js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import type { ExpectedRevision } from './append-decision.ts';
import { NO_STREAM, type ProposedEvent } from './event-log.ts';
import {
  appendBytesOf,
  expectedOf,
  proposedEventOf,
  streamIdentifier,
  streamNameOf,
  uuidOf,
} from './messages.ts';
import type { NodeContext } from './node-context.ts';
import { executeWithFault } from './execute-with-fault.ts';
import { appendEvents, type WriteResult } from './write-stream.ts';

interface Packable {
  serializeBinary(): Uint8Array;
}

/** @param type the full name of the message type of `details` */
const errorStatus = (code: Code, message: string, details: Packable, type: string): Status => {
  const packed = new any.Any();
  packed.pack(details.serializeBinary(), type);
  return new statuses.Status().setCode(code).setMessage(message).setDetails(packed);
};

const timeoutStatus = (): Status =>
  errorStatus(codes.Code.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout(), 'event_store.client.Timeout');

const notReadyStatus = (): Status =>
  errorStatus(codes.Code.OK, 'Server Is Not Ready', new empty.Empty(), 'google.protobuf.Empty');

const deletedStatus = (stream: string): Status =>
  errorStatus(
    codes.Code.NOT_FOUND,
    'StreamDeleted',
    new shared.StreamDeleted().setStreamIdentifier(streamIdentifier(stream)),
    'event_store.client.StreamDeleted',
  );

const tooLargeStatus = (bytesMax: number): Status =>
  errorStatus(
    codes.Code.INVALID_ARGUMENT,
    'MaximumAppendSizeExceeded',
    new shared.MaximumAppendSizeExceeded().setMaxappendsize(bytesMax),
    'event_store.client.MaximumAppendSizeExceeded',
  );

const wrongStatus = (current: bigint, expected: ExpectedRevision): Status => {
  const wrong = new shared.WrongExpectedVersion();
  if (current === NO_STREAM) wrong.setCurrentNoStream(new empty.Empty());
  else wrong.setCurrentStreamRevision(String(current));
  if (expected === 'any') wrong.setExpectedAny(new empty.Empty());
  else if (expected === 'no_stream') wrong.setExpectedNoStream(new empty.Empty());
  else if (expected === 'stream_exists') wrong.setExpectedStreamExists(new empty.Empty());
  else wrong.setExpectedStreamPosition(String(expected));
  return errorStatus(
    codes.Code.ALREADY_EXISTS,
    'WrongExpectedVersion',
    wrong,
    'event_store.client.WrongExpectedVersion',
  );
};

const successOf = ({
  revision,
  position,
}: Extract<WriteResult, { outcome: 'written' }>): BatchAppendResp.Success => {
  const success = new streams.BatchAppendResp.Success();
  if (revision === undefined) success.setNoStream(new empty.Empty());
  else success.setCurrentRevision(String(revision));
  if (position === undefined) return success.setNoPosition(new empty.Empty());
  return success.setPosition(
    new shared.AllStreamPosition().setCommitPosition(String(position)).setPreparePosition(String(position)),
  );
};

interface Pending {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: ProposedEvent[];
  bytes: number;
}

/** The server's own limit for the arrival of an append's last chunk. */
const CHUNKS_TIMEOUT_MS = 2_000;

/** Streams.BatchAppend: appends arrive in chunks, several concurrently. Each is answered by its correlation id. */
export const handleBatchAppend =
  (context: NodeContext): handleBidiStreamingCall<BatchAppendReq, BatchAppendResp> =>
  (call) => {
    const pending = new Map<string, Pending>();
    let isOver = false;
    const over = (): void => {
      isOver = true;
      pending.clear();
    };
    call.on('cancelled', over).on('close', over).on('error', over);

    const respond = (
      request: BatchAppendReq,
      stream: string,
      result: Status | BatchAppendResp.Success,
    ): void => {
      if (isOver) return;
      const response = new streams.BatchAppendResp()
        .setCorrelationId(request.getCorrelationId())
        .setStreamIdentifier(streamIdentifier(stream));
      call.write(result instanceof statuses.Status ? response.setError(result) : response.setSuccess(result));
    };

    const begin = (request: BatchAppendReq, options: BatchAppendReq.Options): void => {
      const id = uuidOf(request.getCorrelationId());
      const stream = streamNameOf(options.getStreamIdentifier());
      const deadline = options.getDeadline()?.toDate().getTime() ?? Number.POSITIVE_INFINITY;
      const leftMs = Math.min(deadline - Date.now(), CHUNKS_TIMEOUT_MS);
      if (leftMs <= 0) return respond(request, stream, timeoutStatus());
      const append = {
        stream,
        expected: expectedOf(options, options.getStreamPosition()),
        events: [],
        bytes: 0,
      };
      pending.set(id, append);
      if (request.getIsFinal()) return;
      context.later(() => {
        if (pending.get(id) !== append) return;
        pending.delete(id);
        respond(request, stream, timeoutStatus());
      }, leftMs);
    };

    const commit = (request: BatchAppendReq, { stream, expected, events }: Pending): void =>
      executeWithFault(
        context.faults.take('batch-append'),
        () => appendEvents(context.log, stream, expected, events),
        {
          answer: (result) => {
            if (result.outcome === 'written') respond(request, stream, successOf(result));
            else if (result.outcome === 'deleted') respond(request, stream, deletedStatus(stream));
            else respond(request, stream, wrongStatus(result.current, expected));
          },
          fail: (status) => {
            if (!isOver) call.emit('error', status);
          },
          reset: () => context.reset(call.getPeer()),
          timeOut: () => respond(request, stream, timeoutStatus()),
          notReady: () => respond(request, stream, notReadyStatus()),
        },
        context.later,
      );

    call.on('data', (request: BatchAppendReq) => {
      const options = request.getOptions();
      if (options !== undefined) begin(request, options);
      const id = uuidOf(request.getCorrelationId());
      const append = pending.get(id);
      if (append === undefined) return;
      for (const event of request.getProposedMessagesList().map(proposedEventOf)) {
        append.events.push(event);
        append.bytes += appendBytesOf(event);
      }
      if (append.bytes > context.maxAppendBytes) {
        pending.delete(id);
        respond(request, append.stream, tooLargeStatus(context.maxAppendBytes));
      } else if (request.getIsFinal()) {
        pending.delete(id);
        commit(request, append);
      }
    });
    call.on('end', () => {
      if (!isOver) call.end();
    });
  };
