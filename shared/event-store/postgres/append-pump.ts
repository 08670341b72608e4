import type { AppendRequest } from '../append-request.ts';
import { AppendOutcomeUnknownError, EventStoreUnavailableError, type AppendResult } from '../event-store.ts';
import type { AppendLane } from './append-lane.ts';
import { createAppendQueue, type AppendQueue, type AppendQueueLimits } from './append-queue.ts';
import { deliverBatch } from './deliver-batch.ts';

export interface AppendPump {
  /** Callers without an answer. */
  readonly pending: number;
  /** @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError */
  append(request: AppendRequest): Promise<AppendResult>;
  /** Refuses new appends, waits until the others have an answer (bounded by their timeouts), closes the lanes. */
  close(): Promise<void>;
}

const queueLimits: AppendQueueLimits = {
  appendsMax: 10_000,
  bytesMax: 256 * 1024 * 1024,
  batchAppendsMax: 512,
  batchBytesMax: 4 * 1024 * 1024,
};

/**
 * Callers that are all answered at once all ask again at once: one lane would take them all, and this process
 * and Postgres would take turns instead of working at the same time. So lanes that are free share what waits;
 * fewer than this are not worth a commit of their own.
 */
const SPLIT_FROM = 64;

/** How long a caller waits at most, ms. */
export interface AppendTimeouts {
  /** For its turn. */
  readonly queuedMs: number;
  /** In all. */
  readonly answerMs: number;
}

/** An answer within 3 s. */
const requestTimeouts: AppendTimeouts = { queuedMs: 2_000, answerMs: 2_900 };
const SWEEP_MS = 100;

/**
 * Group commit. Whenever a lane is free it takes what is waiting and appends it with one statement: an idle
 * store appends at once, a busy one in ever larger batches, and no timer holds anything back. While one lane's
 * batch holds the log's lock, the other's is on its way.
 * @param onAppended told the answer with the highest position of every batch that wrote something
 */
export const createAppendPump = (
  lanes: readonly AppendLane[],
  onAppended: (last: AppendResult) => void,
  timeouts: AppendTimeouts = requestTimeouts,
): AppendPump => {
  const queue = createAppendQueue(queueLimits);
  const expireOverdue = createExpiry(queue, timeouts);
  const idle = [...lanes];
  let closed = false;
  let scheduled = false;

  const dispatch = (): void => {
    scheduled = false;
    while (queue.ready > 0) {
      const lane = idle.pop();
      if (lane === undefined) return;
      void work(lane);
    }
  };

  /** Keeps a lane going while anything waits. Never rejects. */
  const work = async (lane: AppendLane): Promise<void> => {
    try {
      while (queue.ready > 0) {
        if (!lane.connected) {
          await lane.connect();
          continue;
        }
        // Taken only when it can be sent in the same turn: until then an append is definitely not written.
        const batch = queue.takeBatch(Math.max(SPLIT_FROM, Math.ceil(queue.ready / (idle.length + 1))));
        const last = batch.length === 0 ? undefined : await deliverBatch(lane, batch);
        for (const append of batch) queue.done(append);
        if (last !== undefined) onAppended(last);
      }
    } catch (error) {
      // No way to the log at all: whoever is still unsent learns it now, not after its timeout.
      const noneConnected = !lanes.some((other) => other.connected);
      if (noneConnected) queue.giveUp((append) => (append.sent ? 'keep' : (error as Error)));
    } finally {
      idle.push(lane);
    }
  };

  return {
    get pending() {
      return queue.size;
    },
    append: (request) => {
      if (closed) return Promise.reject(new EventStoreUnavailableError('the event store is closed'));
      const answer = queue.add(request);
      expireOverdue();
      if (!scheduled && idle.length > 0) {
        // After this turn's callbacks: the callers that one batch has just answered go into one batch again.
        scheduled = true;
        setImmediate(dispatch);
      }
      return answer;
    },
    close: async () => {
      closed = true;
      while (queue.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await Promise.all(lanes.map((lane) => lane.close()));
    },
  };
};

/** While anyone waits, looks from time to time who has waited long enough. */
const createExpiry = (queue: AppendQueue, { queuedMs, answerMs }: AppendTimeouts): (() => void) => {
  let timer: NodeJS.Timeout | undefined;
  const sweep = (): void => {
    const nowMs = performance.now();
    queue.giveUp((append) => {
      const waitedMs = nowMs - append.sinceMs;
      if (waitedMs < queuedMs) return 'stop';
      if (!append.sent) return new EventStoreUnavailableError('the event log is not reached in time');
      const patient = waitedMs < answerMs;
      return patient ? 'keep' : new AppendOutcomeUnknownError('the event log did not answer in time');
    });
    timer = queue.size === 0 ? undefined : setTimeout(sweep, SWEEP_MS);
  };
  return () => {
    timer ??= setTimeout(sweep, SWEEP_MS);
  };
};
