import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The correlation id of work, from the event that led to it to the log lines of the worker. Unlike a trace, it needs no
 * collector, and it is in the events, so that a log line leads to the audit log.
 */

export interface CorrelatedEvent {
  readonly stream: string;
  readonly metadata: { readonly customerId: number; readonly correlationId: string };
}

interface Correlations {
  readonly ofStream: ReadonlyMap<string, string>;
  readonly ofAccount: ReadonlyMap<number, string>;
}

const batches = new AsyncLocalStorage<() => Correlations>();
const work = new AsyncLocalStorage<string | undefined>();

/** Characters of a UUID, which ends the names of most streams. */
const UUID_LENGTH = 36;

const correlationsOf = (events: readonly CorrelatedEvent[]): Correlations => {
  const ofStream = new Map<string, string>();
  const ofAccount = new Map<number, string>();
  for (const { stream, metadata } of events) {
    ofStream.set(stream.slice(-UUID_LENGTH), metadata.correlationId);
    ofAccount.set(metadata.customerId, metadata.correlationId);
  }
  return { ofStream, ofAccount };
};

/** Runs a batch of a projection. Most batches request no work, so the events are looked through at the first request. */
export const withEventsOf = <T>(events: readonly CorrelatedEvent[], run: () => T): T => {
  let found: Correlations | undefined;
  return batches.run(() => (found ??= correlationsOf(events)), run);
};

/**
 * The correlation id of work that a batch requests: that of the last event of the stream whose id is the entry's key,
 * else that of the account's last event in the batch. Outside of a batch, that of the work which requests it.
 */
export const correlationFor = (customerId: number, key: string): string | undefined => {
  const found = batches.getStore()?.();
  return found === undefined ? work.getStore() : (found.ofStream.get(key) ?? found.ofAccount.get(customerId));
};

/** Runs work: its log lines have the correlation id. */
export const withCorrelation = <T>(correlationId: string | undefined, run: () => T): T =>
  work.run(correlationId, run);

/** Members of log lines. */
export const correlationFields = (): { readonly correlationId?: string } => {
  const correlationId = work.getStore();
  return correlationId === undefined ? {} : { correlationId };
};
