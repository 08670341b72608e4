const PAIRS = 16;
const ROUNDS_MAX = 5;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/**
 * The difference of the medians of two kinds of requests, in ms, which are sent in turn. A systematic difference shows
 * in every round, that of a busy machine does not: the smallest one counts.
 */
export const medianDifference = async (
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
  enoughMs: number,
): Promise<number> => {
  let smallest = Infinity;
  for (let round = 0; round < ROUNDS_MAX && smallest >= enoughMs; round += 1) {
    const [ones, others]: [number[], number[]] = [[], []];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      ones.push(await timed(one));
      others.push(await timed(other));
    }
    smallest = Math.min(smallest, Math.abs(median(ones) - median(others)));
  }
  return smallest;
};
