import type { AppendRequest } from '../append-request.ts';
import { EventStoreUnavailableError, type AppendResult } from '../event-store.ts';
import { createStreamLines } from './stream-lines.ts';

/** One caller waiting for the answer to its append. */
export interface PendingAppend {
  readonly request: AppendRequest;
  readonly sinceMs: number;
  /** Part of a batch that was handed to a lane: its outcome may be unknown from here on. */
  sent: boolean;
  readonly settle: (outcome: AppendResult | Error) => void;
}

export interface AppendQueueLimits {
  /** Callers waiting at most, those under way included. */
  readonly appendsMax: number;
  /** Their payload at most; a single append may always wait. */
  readonly bytesMax: number;
  readonly batchAppendsMax: number;
  /** A batch that has reached this takes no more: it is larger by its last append at most. */
  readonly batchBytesMax: number;
}

/** Callers in the order in which they came, at most one of each stream under way (`stream-lines.ts`). */
export interface AppendQueue {
  /** Callers without an answer. */
  readonly size: number;
  /** How many could be sent now; some of them may have given up. */
  readonly ready: number;
  /** @throws EventStoreUnavailableError when full */
  add(request: AppendRequest): Promise<AppendResult>;
  /** The next batch of `appendsMax` at most, possibly empty. Give each of its members to `done` afterwards. */
  takeBatch(appendsMax: number): PendingAppend[];
  done(append: PendingAppend): void;
  /** Answers everyone that `judge` has an error for, the oldest first; ends at the first it says 'stop' to. */
  giveUp(judge: (append: PendingAppend) => Error | 'keep' | 'stop'): void;
}

export const createAppendQueue = (limits: AppendQueueLimits): AppendQueue => {
  /** Everyone without an answer, oldest first. */
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
