/**
 * All choices of a schedule, one byte each: the next step and its outcome. After the end of the tape, all choices are
 * 0: the oldest step runs next and succeeds. So a shorter tape with smaller numbers is a simpler schedule, which allows
 * shrinking.
 */
export interface Tape {
  /** 0 to 255. */
  next(): number;
  /** 0 to `below - 1`. Reads nothing from the tape if there is only one choice. */
  choose(below: number): number;
}

export const createTape = (bytes: Uint8Array): Tape => {
  let at = 0;
  const next = (): number => bytes[at++] ?? 0;
  return { next, choose: (below) => (below > 1 ? next() % below : 0) };
};
