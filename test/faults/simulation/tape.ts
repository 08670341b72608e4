/**
 * Every choice of a schedule, one byte each: what goes next, and what befalls it. Behind its end all choices
 * are 0: the oldest step goes next, and nothing befalls it. So a shorter tape, and smaller numbers on it, are a
 * simpler schedule: that is how a failing one is shrunk.
 */
export interface Tape {
  /** 0 to 255. */
  next(): number;
  /** 0 to `below - 1`; takes nothing from the tape when there is no choice. */
  choose(below: number): number;
}

export const createTape = (bytes: Uint8Array): Tape => {
  let at = 0;
  const next = (): number => bytes[at++] ?? 0;
  return { next, choose: (below) => (below > 1 ? next() % below : 0) };
};
