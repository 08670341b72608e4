import { randomUUID } from 'node:crypto';
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { EventFilter } from './event-filter.ts';
import { DELETED, type EventLog, type LogRecord } from './event-log.ts';
import { streamDeleted } from './grpc-status.ts';
import { caughtUpMessage, checkpointMessage, confirmationMessage } from './messages.ts';
import type { Outgoing } from './outgoing.ts';
import { indexOf, visibleEvents } from './read-log.ts';

type Render = (record: LogRecord) => ReadResp;

/** Where the last read ended, exclusive: of a stream a revision, of all streams a position; `end` is after all. */
export type After = bigint | 'end';

/** Events that one page of a filtered read returns at most. */
const PAGE_EVENTS_MAX = 32;

/** Confirmation, events of one stream, caughtUp, then events as they come. */
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
    await Promise.race([log.grownBeyond(seen), out.over]);
  }
};

/**
 * Confirmation, events of all streams, caughtUp, then events as they come. With a filter there are checkpoints: one
 * at each interval of considered records and one before caughtUp, none of them twice.
 */
export const subscribeToAll = async (
  log: EventLog,
  out: Outgoing,
  { after, filter, render }: { after: After | undefined; filter: EventFilter | undefined; render: Render },
): Promise<void> => {
  const newest = log.records.at(-1)?.position ?? -1n;
  /** Position of the last record that the client need not see again. */
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
      // A page that had no event for the client still moves it to where the page began.
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
      await Promise.race([log.grownBeyond(next), out.over]);
      continue;
    }
    next += 1;
    // A client that is ahead of a log restored from a backup misses what is written until the log is as far again.
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
