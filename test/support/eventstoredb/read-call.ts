import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { handleServerStreamingCall } from '@grpc/grpc-js';
import { eventFilterOf } from './event-filter.ts';
import type { EventLog, LogRecord } from './event-log.ts';
import type { CallKind } from './faults.ts';
import { invalidArgument, invalidPosition, streamDeleted } from './grpc-status.ts';
import { eventMessage, streamNameOf, streamNotFoundMessage } from './messages.ts';
import type { NodeContext } from './node-context.ts';
import { createOutgoing, type Outgoing } from './outgoing.ts';
import { indexOf, isBoundary, stateOf, visibleEvents } from './read-log.ts';
import { resolveLink } from './resolve-link.ts';
import { executeWithFault } from './execute-with-fault.ts';
import { subscribeToAll, subscribeToStream } from './subscription.ts';

type StreamOptions = ReadReq.Options.StreamOptions;
type AllOptions = ReadReq.Options.AllOptions;

const isBackwards = (options: ReadReq.Options): boolean =>
  options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;

const renderer =
  (log: EventLog, options: ReadReq.Options) =>
  (record: LogRecord): ReadResp =>
    options.getResolveLinks() ? resolveLink(log, record) : eventMessage(record);

const positionOf = (all: AllOptions): bigint | undefined => {
  const position = all.getPosition();
  return position === undefined ? undefined : BigInt(position.getCommitPosition());
};

/** From a revision, inclusive in both directions. */
const selectStream = (
  log: EventLog,
  options: ReadReq.Options,
  stream: StreamOptions,
): readonly LogRecord[] => {
  const events = visibleEvents(log, streamNameOf(stream.getStreamIdentifier()));
  if (!isBackwards(options)) {
    if (stream.hasEnd()) return [];
    return stream.hasStart()
      ? events
      : events.filter(({ revision }) => revision >= BigInt(stream.getRevision()));
  }
  if (stream.hasStart()) return events.filter(({ revision }) => revision === 0n);
  const selected = stream.hasEnd()
    ? events
    : events.filter(({ revision }) => revision <= BigInt(stream.getRevision()));
  return selected.toReversed();
};

/** Forwards from a position, inclusive. Backwards from before it. */
const selectAll = (log: EventLog, options: ReadReq.Options, all: AllOptions): readonly LogRecord[] => {
  const position = positionOf(all);
  const index = all.hasEnd() ? log.records.length : position === undefined ? 0 : indexOf(log, position);
  return isBackwards(options) ? log.records.slice(0, index).toReversed() : log.records.slice(index);
};

const sendAll = async (
  out: Outgoing,
  records: readonly LogRecord[],
  render: (record: LogRecord) => ReadResp,
): Promise<void> => {
  for (const record of records) {
    if (out.isOver) return;
    await out.send(render(record));
  }
  out.end();
};

const answerStream = async (
  { log }: NodeContext,
  options: ReadReq.Options,
  stream: StreamOptions,
  out: Outgoing,
): Promise<void> => {
  const name = streamNameOf(stream.getStreamIdentifier());
  const state = stateOf(log, name);
  const render = renderer(log, options);
  if (state === 'deleted') return out.end(streamDeleted(name));
  if (options.hasSubscription()) {
    const after = stream.hasEnd() ? 'end' : stream.hasStart() ? -1n : BigInt(stream.getRevision());
    return subscribeToStream(log, out, { stream: name, after, render });
  }
  if (state === 'there') {
    return sendAll(out, selectStream(log, options, stream).slice(0, Number(options.getCount())), render);
  }
  await out.send(streamNotFoundMessage(name));
  out.end();
};

const answerAll = async (
  { log }: NodeContext,
  options: ReadReq.Options,
  all: AllOptions,
  out: Outgoing,
): Promise<void> => {
  const position = positionOf(all);
  const filter = eventFilterOf(options);
  const render = renderer(log, options);
  if (position !== undefined && !isBoundary(log, position)) return out.end(invalidPosition);
  if (options.hasSubscription()) {
    return subscribeToAll(log, out, { after: all.hasEnd() ? 'end' : position, filter, render });
  }
  const records = selectAll(log, options, all).filter((record) => filter?.matches(record) ?? true);
  return sendAll(out, records.slice(0, Number(options.getCount())), render);
};

/** Streams.Read: reads and subscriptions of one stream and of all streams. */
export const handleRead =
  (context: NodeContext): handleServerStreamingCall<ReadReq, ReadResp> =>
  (call) => {
    const isLive = call.request.getOptions()?.hasSubscription() ?? false;
    const out = createOutgoing(call, isLive ? context.whenInTouch : () => undefined);
    const options = call.request.getOptions();
    const stream = options?.getStream();
    const all = options?.getAll();
    if (options === undefined || (stream === undefined && all === undefined)) {
      return out.end(invalidArgument('No options were sent.'));
    }
    const isSubscription = options.hasSubscription();
    const kind: CallKind = isSubscription ? 'subscribe' : stream === undefined ? 'read-all' : 'read-stream';
    const answer = async (): Promise<void> => {
      if (isSubscription) {
        context.subscriptions.add(out.end);
        void out.over.then(() => context.subscriptions.delete(out.end));
      }
      if (stream !== undefined) await answerStream(context, options, stream, out);
      else if (all !== undefined) await answerAll(context, options, all, out);
    };
    const run = (): void =>
      executeWithFault(
        context.faults.take(kind),
        () => undefined,
        {
          answer: () => {
            answer().catch((error: unknown) => out.end(invalidArgument(String(error))));
          },
          fail: out.end,
          reset: () => context.reset(call.getPeer()),
        },
        context.later,
      );
    context.admit(call, run, out.end, all !== undefined);
  };
