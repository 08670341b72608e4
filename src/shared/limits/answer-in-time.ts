/**
 * Hands over an answer, or what went wrong, or after a set time that there is none. One of the two is called,
 * once.
 */
export type AnswerInTime = <T>(
  answer: Promise<T>,
  onAnswer: (value: T) => void,
  onFailure: (error: unknown) => void,
) => void;

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
      for (const giveUp of late) giveUp(error);
    };
    setImmediate(() => {
      current = undefined;
    });
    return { late, waiting: 0, timer: setTimeout(() => setImmediate(tooLate), waitMs) };
  };

  return (answer, onAnswer, onFailure) => {
    const turn = (current ??= begin());
    let isSettled = false;
    const settles = (): boolean => {
      if (isSettled) return false;
      isSettled = true;
      turn.waiting -= 1;
      if (turn.waiting === 0) clearTimeout(turn.timer);
      return true;
    };
    const fail = (error: unknown): void => {
      if (settles()) onFailure(error);
    };
    turn.waiting += 1;
    turn.late.push(fail);
    answer.then((value) => {
      if (settles()) onAnswer(value);
    }, fail);
  };
};
