import streams from '@eventstore/db-client/generated/streams_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { AppendReq, AppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { handleClientStreamingCall } from '@grpc/grpc-js';
import type { ExpectedRevision } from './append-decision.ts';
import { NO_STREAM, type ProposedEvent } from './event-log.ts';
import { invalidArgument, maxAppendSizeExceeded, streamDeleted, timedOut } from './grpc-status.ts';
import { appendBytesOf, expectedOf, proposedEventOf, streamNameOf } from './messages.ts';
import type { NodeContext } from './node-context.ts';
import { executeWithFault } from './execute-with-fault.ts';
import { appendEvents, type WriteResult } from './write-stream.ts';

type AppendSuccess = Extract<WriteResult, { outcome: 'written' }>;
type Wrong = Extract<WriteResult, { outcome: 'wrong-revision' }>;

const successMessage = ({ revision, position }: AppendSuccess): AppendResp => {
  const success = new streams.AppendResp.Success();
  if (revision === undefined) success.setNoStream(new shared.Empty());
  else success.setCurrentRevision(String(revision));
  if (position === undefined) success.setNoPosition(new shared.Empty());
  else {
    success.setPosition(
      new streams.AppendResp.Position()
        .setCommitPosition(String(position))
        .setPreparePosition(String(position)),
    );
  }
  return new streams.AppendResp().setSuccess(success);
};

/** A conflict is an answer, not a failed call. */
const wrongMessage = ({ current }: Wrong, expected: ExpectedRevision): AppendResp => {
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (current === NO_STREAM) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(String(current));
  if (expected === 'any') wrong.setExpectedAny(new shared.Empty());
  else if (expected === 'no_stream') wrong.setExpectedNoStream(new shared.Empty());
  else if (expected === 'stream_exists') wrong.setExpectedStreamExists(new shared.Empty());
  else wrong.setExpectedRevision(String(expected));
  return new streams.AppendResp().setWrongExpectedVersion(wrong);
};

/** The server's own limit for the replication of an append. */
const COMMIT_TIMEOUT_MS = 2_000;

/** Streams.Append: the options, then one event in each message. */
export const handleAppend =
  (context: NodeContext): handleClientStreamingCall<AppendReq, AppendResp> =>
  (call, callback) => {
    let options: AppendReq.Options | undefined;
    const events: ProposedEvent[] = [];
    let bytes = 0;
    let isRefused = false;
    call.on('data', (message: AppendReq) => {
      options ??= message.getOptions();
      const proposed = message.getProposedMessage();
      if (proposed === undefined || isRefused) return;
      const event = proposedEventOf(proposed);
      events.push(event);
      bytes += appendBytesOf(event);
      if (bytes <= context.maxAppendBytes) return;
      isRefused = true;
      callback(maxAppendSizeExceeded(context.maxAppendBytes));
    });
    const complete = (): void => {
      // A lost connection also ends the call, possibly before the whole append has arrived.
      if (isRefused || call.cancelled || context.isGone(call.getPeer())) return;
      if (options === undefined) return callback(invalidArgument('No options were sent.'));
      const stream = streamNameOf(options.getStreamIdentifier());
      const expected = expectedOf(options, options.getRevision());
      const answer = (result: WriteResult): void => {
        if (result.outcome === 'deleted') callback(streamDeleted(stream));
        else if (result.outcome === 'written') callback(null, successMessage(result));
        else callback(null, wrongMessage(result, expected));
      };
      if (context.nodeRole.role === 'deposed') {
        context.tail.push(...events);
        return context.later(() => callback(timedOut), COMMIT_TIMEOUT_MS);
      }
      executeWithFault(
        context.faults.take('append'),
        () => appendEvents(context.replication?.written ?? context.log, stream, expected, events),
        {
          answer: (result) => {
            if (context.replication === undefined) {
              return context.later(() => answer(result), context.appendDelayMs());
            }
            // A refusal may also depend on events that a majority does not have yet.
            context.replication.whenCommitted((isCommitted) =>
              isCommitted ? answer(result) : callback(timedOut),
            );
          },
          fail: callback,
          reset: () => context.reset(call.getPeer()),
        },
        context.later,
      );
    };
    // Checks admission again after the delay: the node may have lost its leadership meanwhile.
    const admit = (run: () => void): void => context.admit(call, run, callback);
    call.on('end', () => {
      setImmediate(() => admit(() => context.later(() => admit(complete), context.appendDelayMs())));
    });
  };
