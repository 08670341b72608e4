import { unavailable, type ApiError } from './errors.ts';

/** A request is answered within 3 s even if a store hangs. */
const ANSWER_MS_MAX = 2_800;

export interface Deadline {
  /** One call at a time; late work continues. @throws ApiError SERVICE_UNAVAILABLE at the deadline */
  wait<T>(work: Promise<T>): Promise<T>;
  /** Then start nothing new: the outcome that the client's retry sees must not change. */
  readonly isOver: boolean;
  end(): void;
}

/** The time that a client takes to send its body does not count. @param onLateFailure gets later errors */
export const createDeadline = (onLateFailure: (error: unknown) => void): Deadline => {
  let leftMs = ANSWER_MS_MAX;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let waiting: { readonly startedAt: number; readonly reject: (error: unknown) => void } | undefined;

  const onTimer = (): void => {
    timer = undefined;
    if (waiting === undefined) return;
    const ms = leftMs - (performance.now() - waiting.startedAt);
    // A timer may fire early by a fraction of a millisecond or by the time between two waits.
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

/** For a single wait. */
export const inTime = async <T>(work: Promise<T>, onLateFailure: (error: unknown) => void): Promise<T> => {
  const deadline = createDeadline(onLateFailure);
  try {
    return await deadline.wait(work);
  } finally {
    deadline.end();
  }
};

const noAnswerInTime = (): ApiError =>
  unavailable(
    'No answer in time; the outcome is unknown. Repeat the request with the same Idempotency-Key: it is never done twice.',
  );
