import type { AppendRequest } from '../append-request.ts';
import { EventStoreUnavailableError, type AppendResult } from '../event-store.ts';
import { createStreamLines } from './stream-lines.ts';

export interface PendingAppend {
  readonly request: AppendRequest;
  readonly sinceMs: number;
  /** From here on the outcome can be unknown. */
  sent: boolean;
  readonly settle: (outcome: AppendResult | Error) => void;
}

export interface AppendQueueLimits {
  /** Including those already sent. */
  readonly appendsMax: number;
  readonly bytesMax: number;
  readonly batchAppendsMax: number;
  /** The last append of a batch may exceed the limit. */
  readonly batchBytesMax: number;
}

/** At most one append of each stream is in progress (`stream-lines.ts`). */
export interface AppendQueue {
  readonly size: number;
  /** Appends that could be sent now; some may have timed out. */
  readonly ready: number;
  /** @throws EventStoreUnavailableError if the queue is full */
  add(request: AppendRequest): Promise<AppendResult>;
  /** Call `done` for each member afterwards. */
  takeBatch(appendsMax: number): PendingAppend[];
  done(append: PendingAppend): void;
  /** Oldest first; ends at the first 'stop'. */
  giveUp(judge: (append: PendingAppend) => Error | 'keep' | 'stop'): void;
}

export const createAppendQueue = (limits: AppendQueueLimits): AppendQueue => {
  const open = new Set<PendingAppend>();
  const lines = createStreamLines<PendingAppend>();
  let bytes = 0;

  const isFull = (request: AppendRequest): boolean =>
    open.size >= limits.appendsMax || (open.size > 0 && bytes + request.bytes > limits.bytesMax);

  return {
    get size() {
      return open.size;
    },
    get ready() {
      return lines.ready;
    },
    add: (request) =>
      new Promise((resolve, reject) => {
        if (isFull(request)) {
          return reject(new EventStoreUnavailableError('too many appends are waiting for the event log'));
        }
        const append: PendingAppend = {
          request,
          sinceMs: performance.now(),
          sent: false,
          settle: (outcome) => {
            if (!open.delete(append)) return;
            bytes -= request.bytes;
            if (outcome instanceof Error) reject(outcome);
            else resolve(outcome);
          },
        };
        open.add(append);
        bytes += request.bytes;
        lines.add(request.stream, append);
      }),
    takeBatch: (appendsMax) => {
      const batch: PendingAppend[] = [];
      const count = Math.min(appendsMax, limits.batchAppendsMax);
      let batchBytes = 0;
      while (batch.length < count && batchBytes < limits.batchBytesMax) {
        const append = lines.next();
        if (append === undefined) break;
        if (!open.has(append)) {
          lines.done(append.request.stream);
          continue;
        }
        append.sent = true;
        batchBytes += append.request.bytes;
        batch.push(append);
      }
      return batch;
    },
    done: (append) => lines.done(append.request.stream),
    giveUp: (judge) => {
      for (const append of open) {
        const verdict = judge(append);
        if (verdict === 'stop') return;
        if (verdict !== 'keep') append.settle(verdict);
      }
    },
  };
};
