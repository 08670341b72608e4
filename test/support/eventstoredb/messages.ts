import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { UUID, StreamIdentifier } from '@eventstore/db-client/generated/shared_pb.js';
import type { AppendReq, BatchAppendReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ExpectedRevision } from './append-decision.ts';
import type { LogRecord, ProposedEvent } from './event-log.ts';

export const streamNameOf = (identifier: StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');

export const streamIdentifier = (stream: string): StreamIdentifier =>
  new shared.StreamIdentifier().setStreamName(new Uint8Array(Buffer.from(stream, 'utf8')));

const hex = (bits: string): string => BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, '0');

export const uuidOf = (uuid: UUID | undefined): string => {
  const structured = uuid?.getStructured();
  if (structured === undefined) return (uuid?.getString() ?? '').toLowerCase();
  const digits = hex(structured.getMostSignificantBits()) + hex(structured.getLeastSignificantBits());
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

/** The expected revision of an append, deletion or tombstone. @param revision the exact revision, if given */
export const expectedOf = (
  options: { hasNoStream(): boolean; hasAny(): boolean; hasStreamExists(): boolean },
  revision: string,
): ExpectedRevision => {
  if (options.hasNoStream()) return 'no_stream';
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'stream_exists' : BigInt(revision);
};

/** The server's notation in numeric fields. */
export const expectedNumber = (expected: ExpectedRevision): bigint =>
  expected === 'no_stream' ? -1n : expected === 'any' ? -2n : expected === 'stream_exists' ? -4n : expected;

export const proposedEventOf = (
  message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage,
): ProposedEvent => ({
  id: uuidOf(message.getId()),
  type: message.getMetadataMap().get('type') ?? '',
  contentType: message.getMetadataMap().get('content-type') ?? '',
  data: message.getData_asU8(),
  metadata: message.getCustomMetadata_asU8(),
});

/** The size that the server compares with MaxAppendSize. */
export const appendBytesOf = ({ data, metadata, type }: ProposedEvent): number =>
  data.length + metadata.length + 2 * type.length;

/** The server's times have units of 100 ns. */
export const ticksOf = (ms: number): string => String(BigInt(ms) * 10_000n);

const recordedEvent = (record: LogRecord): ReadResp.ReadEvent.RecordedEvent => {
  const event = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(record.id))
    .setStreamIdentifier(streamIdentifier(record.stream))
    .setStreamRevision(String(record.revision))
    .setCommitPosition(String(record.position))
    .setPreparePosition(String(record.position))
    .setCustomMetadata(record.metadata)
    .setData(record.data);
  event
    .getMetadataMap()
    .set('type', record.type)
    .set('created', ticksOf(record.createdAt))
    .set('content-type', record.contentType);
  return event;
};

/** @param link the link that led to the event */
export const eventMessage = (event: LogRecord | undefined, link?: LogRecord): ReadResp => {
  const message = new streams.ReadResp.ReadEvent();
  if (event !== undefined) message.setEvent(recordedEvent(event));
  if (link !== undefined) message.setLink(recordedEvent(link));
  const origin = link ?? event;
  if (origin === undefined) message.setNoPosition(new shared.Empty());
  else message.setCommitPosition(String(origin.position));
  return new streams.ReadResp().setEvent(message);
};

export const confirmationMessage = (id: string): ReadResp =>
  new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(id),
  );

export const checkpointMessage = (position: bigint): ReadResp =>
  new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint()
      .setCommitPosition(String(position))
      .setPreparePosition(String(position)),
  );

export const caughtUpMessage = (): ReadResp =>
  new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp());

export const streamNotFoundMessage = (stream: string): ReadResp =>
  new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(stream)),
  );
