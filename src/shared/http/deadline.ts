import { unavailable, type ApiError } from './errors.ts';

/**
 * Longest time that a request may wait on the stores behind it, so that it is answered within 3 s when one of
 * them stalls, however many waits add up beneath.
 */
const ANSWER_MS_MAX = 2_800;

/** The time that one request has for its answer. */
export interface Deadline {
  /**
   * Waits for `work`, but not past the deadline. What was begun goes on by itself.
   * @throws ApiError SERVICE_UNAVAILABLE at the deadline: the outcome is unknown
   */
  wait<T>(work: Promise<T>): Promise<T>;
  /**
   * True once `wait` has given up. Work that sees it begins nothing any more: the client was told to ask again,
   * and what its next attempt is told must not be made untrue by this one.
   */
  readonly isOver: boolean;
}

/**
 * A new deadline; only time spent in `wait` counts, not the time a client takes to send its body.
 * @param onLateFailure told of work that failed after `wait` had given it up: nobody else hears of it
 */
export const createDeadline = (onLateFailure: (error: unknown) => void): Deadline => {
  let leftMs = ANSWER_MS_MAX;
  let isOver = false;
  return {
    get isOver() {
      return isOver;
    },
    wait: (work) =>
      new Promise((resolve, reject) => {
        const startedAt = performance.now();
        const giveUp = (): void => {
          isOver = true;
          reject(noAnswerInTime());
        };
        const timer = setTimeout(giveUp, Math.max(0, leftMs));
        const fail = (error: unknown): void => {
          if (isOver) onLateFailure(error);
          reject(error);
        };
        work.then(resolve, fail).finally(() => {
          clearTimeout(timer);
          leftMs -= performance.now() - startedAt;
        });
      }),
  };
};

const noAnswerInTime = (): ApiError =>
  unavailable(
    'No answer in time; the outcome is unknown. Repeat the request with the same Idempotency-Key: it is never done twice.',
  );
