import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import type { CallOutcome, LogCall, Validate } from './log-call.ts';
import type { WaitingBytes } from './waiting-bytes.ts';

export interface WaitingCall {
  readonly call: LogCall;
  readonly validate: Validate;
  /** The call was rejected undecided, so it must not be logged. */
  readonly isGivenUp: () => boolean;
  readonly resolve: (outcome: CallOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export interface CallQueue {
  readonly length: number;
  /**
   * @param isStarted asked after `STARTING_MS_MAX`: false rejects a call that still waits for its source
   * @throws EventStoreUnavailableError when too many calls or bytes wait
   */
  add(call: LogCall, validate: Validate, isStarted: () => boolean): Promise<CallOutcome>;
  take(): readonly WaitingCall[];
}

const CALLS_WAITING_MAX = 1_000;
/** A larger call forms its own group. */
const GROUP = { callsMax: 400, itemsMax: 20_000 } as const;
/** Maximum wait for the first read of the source's stream. Shorter than a request's timeout. */
const STARTING_MS_MAX = 2_000;

export const createCallQueue = (stream: string, waitingBytes: WaitingBytes): CallQueue => {
  let queue: WaitingCall[] = [];

  const admit = ({ bytes }: LogCall): void => {
    if (queue.length >= CALLS_WAITING_MAX) throw unavailable(`too many calls wait for ${stream}`);
    if (!waitingBytes.take(bytes)) throw unavailable('too many bytes wait for their event sources');
  };

  return {
    get length() {
      return queue.length;
    },
    add: (call, validate, isStarted) =>
      new Promise((resolve, reject) => {
        admit(call);
        let isGivenUp = false;
        let isAnswered = false;
        // A failure rejects the whole group, including calls that were answered already.
        const settle = (answer: () => void): void => {
          if (isAnswered) return;
          isAnswered = true;
          clearTimeout(timer);
          waitingBytes.give(call.bytes);
          answer();
        };
        const waiting: WaitingCall = {
          call,
          validate,
          // No getter: V8 keeps that of a literal as an old object, and the call's items with it.
          isGivenUp: () => isGivenUp,
          resolve: (outcome) => settle(() => resolve(outcome)),
          reject: (error) => settle(() => reject(error instanceof Error ? error : new Error(String(error)))),
        };
        const giveUp = (): void => {
          if (isStarted()) return;
          waiting.reject(unavailable(`${stream} is still being read`));
          isGivenUp = true;
          queue = queue.filter((other) => other !== waiting);
        };
        const timer = isStarted() ? undefined : setTimeout(giveUp, STARTING_MS_MAX).unref();
        queue.push(waiting);
      }),
    take: () => {
      let items = 0;
      let count = 0;
      for (const { call } of queue) {
        items += call.events.length;
        if (count > 0 && (items > GROUP.itemsMax || count === GROUP.callsMax)) break;
        count += 1;
      }
      const group = queue.slice(0, count);
      queue = queue.slice(count);
      return group;
    },
  };
};

const unavailable = (message: string): EventStoreUnavailableError => new EventStoreUnavailableError(message);
