import type { AppendRequest } from '../append-request.ts';
import { AppendOutcomeUnknownError, EventStoreUnavailableError, type AppendResult } from '../event-store.ts';
import type { AppendConnection } from './append-connection.ts';
import { createAppendQueue, type AppendQueue, type AppendQueueLimits } from './append-queue.ts';
import { deliverBatch } from './deliver-batch.ts';

export interface AppendPump {
  readonly pending: number;
  /** @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError */
  append(request: AppendRequest): Promise<AppendResult>;
  /** Waits until all pending appends are answered (bounded by their timeouts). */
  close(): Promise<void>;
}

const queueLimits: AppendQueueLimits = {
  appendsMax: 10_000,
  bytesMax: 256 * 1024 * 1024,
  batchAppendsMax: 512,
  batchBytesMax: 4 * 1024 * 1024,
};

// Callers that get their answers together also append again together. If one connection took all of them,
// this process and Postgres would alternate. Smaller batches are not worth a commit.
const SPLIT_FROM = 64;

export interface AppendTimeouts {
  readonly queuedMs: number;
  readonly answerMs: number;
}

/** Gives an answer within 3 s. */
const requestTimeouts: AppendTimeouts = { queuedMs: 2_000, answerMs: 2_900 };
const SWEEP_MS = 100;

/**
 * Group commit without a timer: an idle store appends immediately, a busy one in larger batches. @param
 * onAppended receives the last answer of each batch that wrote events
 */
export const createAppendPump = (
  connections: readonly AppendConnection[],
  onAppended: (last: AppendResult) => void,
  timeouts: AppendTimeouts = requestTimeouts,
): AppendPump => {
  const queue = createAppendQueue(queueLimits);
  const expireOverdue = createExpiry(queue, timeouts);
  const idle = [...connections];
  let closed = false;
  let scheduled = false;

  const dispatch = (): void => {
    scheduled = false;
    while (queue.ready > 0) {
      const connection = idle.pop();
      if (connection === undefined) return;
      void work(connection);
    }
  };

  const work = async (connection: AppendConnection): Promise<void> => {
    try {
      while (queue.ready > 0) {
        if (!connection.connected) {
          await connection.connect();
          continue;
        }
        // Take a batch only when it can be sent: an append in the queue is definitely not written.
        const batch = queue.takeBatch(Math.max(SPLIT_FROM, Math.ceil(queue.ready / (idle.length + 1))));
        const last = batch.length === 0 ? undefined : await deliverBatch(connection, batch);
        for (const append of batch) queue.done(append);
        if (last !== undefined) onAppended(last);
      }
    } catch (error) {
      // Unsent appends fail now instead of after their timeout.
      const noneConnected = !connections.some((other) => other.connected);
      if (noneConnected) queue.giveUp((append) => (append.sent ? 'keep' : (error as Error)));
    } finally {
      idle.push(connection);
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
        // Deferred, so that the callers of an answered batch go into one batch again.
        scheduled = true;
        setImmediate(dispatch);
      }
      return answer;
    },
    close: async () => {
      closed = true;
      while (queue.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
};

const createExpiry = (queue: AppendQueue, { queuedMs, answerMs }: AppendTimeouts): (() => void) => {
  let timer: NodeJS.Timeout | undefined;
  const sweep = (): void => {
    const nowMs = performance.now();
    queue.giveUp((append) => {
      const waitedMs = nowMs - append.sinceMs;
      if (waitedMs < queuedMs) return 'stop';
      if (!append.sent) return new EventStoreUnavailableError('the event log could not be reached in time');
      const patient = waitedMs < answerMs;
      return patient ? 'keep' : new AppendOutcomeUnknownError('the event log did not answer in time');
    });
    timer = queue.size === 0 ? undefined : setTimeout(sweep, SWEEP_MS);
  };
  return () => {
    timer ??= setTimeout(sweep, SWEEP_MS);
  };
};
