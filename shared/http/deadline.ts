import { unavailable, type ApiError } from './errors.ts';

/**
 * Longest time that a request may wait on the stores behind it, so that it is answered within 3 s when one of
 * them stalls, however many waits add up beneath.
 */
const ANSWER_MS_MAX = 2_800;

/** The time that one request has for its answer. */
export interface Deadline {
  /**
   * Waits for `work`, but not past the deadline; one at a time. What was begun goes on by itself.
   * @throws ApiError SERVICE_UNAVAILABLE at the deadline: the outcome is unknown
   */
  wait<T>(work: Promise<T>): Promise<T>;
  /**
   * True once `wait` has given up. Work that sees it begins nothing any more: the client was told to ask again,
   * and what its next attempt is told must not be made untrue by this one.
   */
  readonly isOver: boolean;
  /** The request is answered: nothing is waited for any more. */
  end(): void;
}

/**
 * A new deadline; only time spent in `wait` counts, not the time a client takes to send its body. One timer serves
 * all waits of a request: when it goes off early, because time passed between two of them, it is set again.
 * @param onLateFailure told of work that failed after `wait` had given it up: nobody else hears of it
 */
export const createDeadline = (onLateFailure: (error: unknown) => void): Deadline => {
  let leftMs = ANSWER_MS_MAX;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let waiting: { readonly startedAt: number; readonly reject: (error: unknown) => void } | undefined;

  const onTimer = (): void => {
    timer = undefined;
    if (waiting === undefined) return;
    const ms = leftMs - (performance.now() - waiting.startedAt);
    // A timer may go off a fraction of a millisecond early.
    if (ms >= 1) {
      timer = setTimeout(onTimer, ms);
      return;
    }
    isOver = true;
    waiting.reject(noAnswerInTime());
  };
  const settle = (startedAt: number): void => {
    waiting = undefined;
    leftMs -= performance.now() - startedAt;
  };

  return {
    get isOver() {
      return isOver;
    },
    end: () => {
      clearTimeout(timer);
      timer = undefined;
    },
    wait: (work) =>
      new Promise((resolve, reject) => {
        const startedAt = performance.now();
        waiting = { startedAt, reject };
        timer ??= setTimeout(onTimer, Math.max(0, leftMs));
        work.then(
          (value) => {
            settle(startedAt);
            resolve(value);
          },
          (error: unknown) => {
            settle(startedAt);
            if (isOver) onLateFailure(error);
            reject(error);
          },
        );
      }),
  };
};

const noAnswerInTime = (): ApiError =>
  unavailable(
    'No answer in time; the outcome is unknown. Repeat the request with the same Idempotency-Key: it is never done twice.',
  );
