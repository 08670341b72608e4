import { randomUUID } from 'node:crypto';
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { EventFilter } from './event-filter.ts';
import { DELETED, type EventLog, type LogRecord } from './event-log.ts';
import { streamDeleted } from './grpc-status.ts';
import { caughtUpMessage, checkpointMessage, confirmationMessage } from './messages.ts';
import type { Outgoing } from './outgoing.ts';
import { indexOf, visibleEvents } from './read-log.ts';

type Render = (record: LogRecord) => ReadResp;

/** The end of the last read, exclusive: a stream's revision, or a position for all streams. `end` is after all. */
export type After = bigint | 'end';

/** The maximum of events that one page of a filtered read returns. */
const PAGE_EVENTS_MAX = 32;

/** Sends a confirmation, the stream's events, caughtUp, then new events. */
export const subscribeToStream = async (
  log: EventLog,
  out: Outgoing,
  { stream, after, render }: { stream: string; after: After; render: Render },
): Promise<void> => {
  let last = after === 'end' ? log.lastRevision(stream) : after;
  await out.send(confirmationMessage(randomUUID()));
  for (let caughtUp = false; !out.isOver;) {
    const seen = log.records.length;
    for (const record of visibleEvents(log, stream).filter(({ revision }) => revision > last)) {
      await out.send(render(record));
      last = record.revision;
    }
    if (log.lastRevision(stream) === DELETED) return out.end(streamDeleted(stream));
    if (seen !== log.records.length) continue;
    if (!caughtUp) await out.send(caughtUpMessage());
    caughtUp = true;
    await out.pause((wake) => log.whenBeyond(seen, wake));
  }
};

/**
 * Sends a confirmation, the events of all streams, caughtUp, then new events. A filtered subscription also sends
 * checkpoints: at each interval of considered records and before caughtUp, without repeating one.
 */
export const subscribeToAll = async (
  log: EventLog,
  out: Outgoing,
  { after, filter, render }: { after: After | undefined; filter: EventFilter | undefined; render: Render },
): Promise<void> => {
  const newest = log.records.at(-1)?.position ?? -1n;
  /** Position of the last record that the client has received or may skip. */
  let reached = after === 'end' ? newest : (after ?? -1n);
  let checkpoint = -1n;
  let considered = 0;
  const sendCheckpoint = async (): Promise<void> => {
    if (reached <= checkpoint) return;
    checkpoint = reached;
    await out.send(checkpointMessage(reached));
  };

  await out.send(confirmationMessage(randomUUID()));
  let next = indexOf(log, reached + 1n);
  if (after === undefined || reached < newest) {
    while (!out.isOver && next < log.records.length) {
      const start = next;
      let events = 0;
      for (; next < log.records.length && next - start < (filter?.window ?? PAGE_EVENTS_MAX); next += 1) {
        const record = log.records[next];
        if (record === undefined || events === PAGE_EVENTS_MAX) break;
        if (filter !== undefined && !filter.matches(record)) continue;
        events += 1;
        await out.send(render(record));
        reached = record.position;
      }
      // A page without an event for the client still advances it to the page's start.
      const began = start === 0 ? 0n : (log.records[start]?.position ?? 0n);
      if (began > reached) reached = began;
      considered += next - start;
      if (filter === undefined) continue;
      if (next === log.records.length) await sendCheckpoint();
      else if (considered >= filter.checkpointInterval) {
        considered %= filter.checkpointInterval;
        await sendCheckpoint();
      }
    }
  }
  await out.send(caughtUpMessage());

  considered = 0;
  while (!out.isOver) {
    const record = log.records[next];
    if (record === undefined) {
      await out.pause((wake) => log.whenBeyond(next, wake));
      continue;
    }
    next += 1;
    // A client that is ahead of a restored log misses new records until the log reaches its position.
    if (record.position <= reached) continue;
    if (filter === undefined || filter.matches(record)) {
      await out.send(render(record));
      reached = record.position;
    }
    considered += 1;
    if (filter === undefined || considered < filter.checkpointInterval) continue;
    considered = 0;
    reached = record.position;
    await sendCheckpoint();
  }
};
