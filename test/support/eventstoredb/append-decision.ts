import { DELETED, NO_STREAM, type EventLog } from './event-log.ts';
import { isSoftDeleted, metastreamOf } from './stream-metadata.ts';

export type ExpectedRevision = bigint | 'any' | 'no_stream' | 'stream_exists';

export type AppendDecision =
  | { readonly outcome: 'append'; readonly undelete: boolean }
  /** All events exist already. `last` is the revision of the last of them, not of the stream. */
  | { readonly outcome: 'idempotent'; readonly last: bigint }
  /** `current` is `NO_STREAM` or the stream's last revision. */
  | { readonly outcome: 'wrong-revision'; readonly current: bigint }
  | { readonly outcome: 'deleted' };

/** Decides about an append as the server's index writer does. Deletions also use it, with their own id. */
export const decideAppend = (
  log: EventLog,
  stream: string,
  expected: ExpectedRevision,
  ids: readonly string[],
): AppendDecision => {
  const current = log.lastRevision(stream);
  if (current === DELETED) return { outcome: 'deleted' };
  if (expected === 'stream_exists') {
    if (isSoftDeleted(log, stream)) return { outcome: 'deleted' };
    if (current === NO_STREAM && log.lastRevision(metastreamOf(stream)) === NO_STREAM) {
      return { outcome: 'wrong-revision', current };
    }
  }
  if (expected === 'any' || expected === 'stream_exists') return decideWeakly(log, stream, ids);
  const revision = expected === 'no_stream' ? NO_STREAM : expected;
  if (revision > current) return { outcome: 'wrong-revision', current };
  if (revision < current) return decideStrongly(log, stream, revision, ids);
  return { outcome: 'append', undelete: isSoftDeleted(log, stream) };
};

/** Knows only ids that were appended since the server started, and ignores their revisions. */
const decideWeakly = (log: EventLog, stream: string, ids: readonly string[]): AppendDecision => {
  let last: bigint | undefined;
  for (const id of ids) {
    const known = log.recentRevision(stream, id);
    if (known === undefined) {
      if (last === undefined) break;
      return { outcome: 'wrong-revision', current: log.lastRevision(stream) };
    }
    last = known;
  }
  return last === undefined
    ? { outcome: 'append', undelete: isSoftDeleted(log, stream) }
    : { outcome: 'idempotent', last };
};

/** Every event must already exist at exactly its revision. */
const decideStrongly = (
  log: EventLog,
  stream: string,
  revision: bigint,
  ids: readonly string[],
): AppendDecision => {
  const current = log.lastRevision(stream);
  const events = log.eventsOf(stream);
  const mismatch = ids.findIndex((id, index) => events[Number(revision) + 1 + index]?.id !== id);
  if (mismatch === -1 && ids.length > 0)
    return { outcome: 'idempotent', last: revision + BigInt(ids.length) };
  if (mismatch === 0 && revision === NO_STREAM && isSoftDeleted(log, stream)) {
    return { outcome: 'append', undelete: true };
  }
  return { outcome: 'wrong-revision', current };
};
