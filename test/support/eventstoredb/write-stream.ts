import { randomUUID } from 'node:crypto';
import { decideAppend, type AppendDecision, type ExpectedRevision } from './append-decision.ts';
import { DELETED, NO_STREAM, type EventLog, type ProposedEvent } from './event-log.ts';
import { isSoftDeleted, metadataOf, metastreamOf, rawMetadata } from './stream-metadata.ts';

type Refusal = Extract<AppendDecision, { outcome: 'wrong-revision' | 'deleted' }>;

export type WriteResult =
  | {
      readonly outcome: 'written';
      /** Revision of the last requested event; absent after an empty append. */
      readonly revision?: bigint;
      /** Position of the last requested event; absent if it can no longer be read. */
      readonly position?: bigint;
    }
  | Refusal;

const encoder = new TextEncoder();

const systemEvent = (type: string, data = ''): ProposedEvent => ({
  id: randomUUID(),
  type,
  contentType: 'application/json',
  data: encoder.encode(data),
  metadata: new Uint8Array(),
});

/** A recreated stream keeps its numbering and shows only events after the deletion. */
const undelete = (log: EventLog, stream: string, from: bigint): void => {
  const metadata = JSON.stringify({ ...rawMetadata(log, stream), $tb: Number(from) });
  log.write(metastreamOf(stream), [systemEvent('$metadata', metadata)]);
};

/** Appends all events or none. */
export const appendEvents = (
  log: EventLog,
  stream: string,
  expected: ExpectedRevision,
  events: readonly ProposedEvent[],
): WriteResult => {
  const ids = events.map(({ id }) => id);
  const decision = decideAppend(log, stream, expected, ids);
  if (decision.outcome === 'idempotent') {
    const isReadable = decision.last >= metadataOf(log, stream).truncateBefore;
    const position = isReadable ? log.eventsOf(stream)[Number(decision.last)]?.position : undefined;
    return {
      outcome: 'written',
      revision: decision.last,
      ...(position === undefined ? {} : { position }),
    };
  }
  if (decision.outcome !== 'append') return decision;
  const next = log.lastRevision(stream) + 1n;
  const original = stream.startsWith('$$') ? stream.slice(2) : undefined;
  const undeletesOriginal = original !== undefined && isSoftDeleted(log, original);
  const last = log.write(stream, events).at(-1);
  if (last === undefined) return { outcome: 'written' };
  if (decision.undelete) undelete(log, stream, next);
  if (original !== undefined && undeletesOriginal) undelete(log, original, log.lastRevision(original) + 1n);
  return { outcome: 'written', revision: last.revision, position: last.position };
};

/** Hides a stream's events. The stream can be recreated. */
export const softDelete = (log: EventLog, stream: string, expected: ExpectedRevision): WriteResult => {
  const decision = decideAppend(log, stream, expected, [randomUUID()]);
  if (decision.outcome === 'idempotent') throw new Error('A new id cannot be known.');
  if (decision.outcome !== 'append') return decision;
  const never =
    log.lastRevision(stream) === NO_STREAM && log.lastRevision(metastreamOf(stream)) === NO_STREAM;
  if (never) return { outcome: 'wrong-revision', current: NO_STREAM };
  const [written] = log.write(metastreamOf(stream), [systemEvent('$metadata', `{"$tb":${DELETED}}`)]);
  return { outcome: 'written', ...(written === undefined ? {} : { position: written.position }) };
};

/** Ends a stream permanently. */
export const tombstone = (log: EventLog, stream: string, expected: ExpectedRevision): WriteResult => {
  const decision = decideAppend(log, stream, expected, [randomUUID()]);
  if (decision.outcome === 'idempotent') throw new Error('A new id cannot be known.');
  if (decision.outcome !== 'append') return decision;
  const { position } = log.writeTombstone(stream, systemEvent('$streamDeleted'));
  return { outcome: 'written', position };
};
