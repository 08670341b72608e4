import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import type { CallOutcome, LogCall, Validate } from './log-call.ts';
import type { WaitingBytes } from './waiting-bytes.ts';

/** A call without an answer. */
export interface WaitingCall {
  readonly call: LogCall;
  readonly validate: Validate;
  /** It was answered before anything was decided: nothing may be done for it any more. */
  readonly isGivenUp: boolean;
  readonly resolve: (outcome: CallOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls of one source, in the order in which they came. */
export interface CallQueue {
  readonly length: number;
  /**
   * @param isStarted asked after `STARTING_MS_MAX`: a call that still waits for the source to be ready is given up
   * @throws EventStoreUnavailableError when too many wait, or too much
   */
  add(call: LogCall, validate: Validate, isStarted: () => boolean): Promise<CallOutcome>;
  /** The next ones: as many as go together. */
  take(): readonly WaitingCall[];
}

const CALLS_WAITING_MAX = 1_000;
/** Of calls that are decided together; one that is larger goes alone. */
const GROUP = { callsMax: 400, itemsMax: 20_000 } as const;
/** How long a call waits for what the source's stream holds to be read. Less than a request may take. */
const STARTING_MS_MAX = 2_000;

export const createCallQueue = (stream: string, waitingBytes: WaitingBytes): CallQueue => {
  let queue: WaitingCall[] = [];

  const admit = ({ bytes }: LogCall): void => {
    if (queue.length >= CALLS_WAITING_MAX) throw unavailable(`too many calls wait for ${stream}`);
    if (!waitingBytes.take(bytes)) throw unavailable('too large calls wait for their event sources');
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
        // What fails tells everybody of the group, also those who have their answer already.
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
          get isGivenUp() {
            return isGivenUp;
          },
          resolve: (outcome) => settle(() => resolve(outcome)),
          reject: (error) => settle(() => reject(error instanceof Error ? error : new Error(String(error)))),
        };
        const giveUp = (): void => {
          if (isStarted()) return;
          waiting.reject(unavailable(`what ${stream} holds is still being read`));
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
