/** Waits for an answer, but not longer than a set time. @throws Error when there is none by then */
export type AnswerInTime = <T>(answer: Promise<T>) => Promise<T>;

/** What was asked in one turn of the event loop, under one timer. */
interface Turn {
  readonly late: ((error: Error) => void)[];
  waiting: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Gives answers `waitMs`. Answers awaited from the same turn share a timer: one for each request costs more than
 * counting it. After a stall of this process timers run before sockets are read, so at the end of the time
 * what has arrived is looked at once more.
 */
export const createAnswerInTime = (waitMs: number): AnswerInTime => {
  let current: Turn | undefined;

  const begin = (): Turn => {
    const late: Turn['late'] = [];
    const tooLate = (): void => {
      const error = new Error(`no answer within ${waitMs} ms`);
      for (const reject of late) reject(error);
    };
    setImmediate(() => {
      current = undefined;
    });
    return { late, waiting: 0, timer: setTimeout(() => setImmediate(tooLate), waitMs) };
  };

  return (answer) =>
    new Promise((resolve, reject) => {
      const turn = (current ??= begin());
      turn.waiting += 1;
      turn.late.push(reject);
      const settled = (): void => {
        turn.waiting -= 1;
        if (turn.waiting === 0) clearTimeout(turn.timer);
      };
      answer.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error: unknown) => {
          settled();
          reject(error);
        },
      );
    });
};
