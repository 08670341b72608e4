import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { EventLog, LogRecord } from './event-log.ts';
import { eventMessage } from './messages.ts';
import { visibleEvents } from './read-log.ts';

/**
 * A link is an event of type `$>` with the data `revision@stream`. A link to a missing event is returned without the
 * event.
 */
export const resolveLink = (log: EventLog, record: LogRecord): ReadResp => {
  if (record.type !== '$>') return eventMessage(record);
  const [, revision, stream] = /^(\d+)@(.+)$/su.exec(Buffer.from(record.data).toString('utf8')) ?? [];
  const target =
    revision === undefined || stream === undefined
      ? undefined
      : visibleEvents(log, stream).find((event) => event.revision === BigInt(revision));
  return eventMessage(target, record);
};
