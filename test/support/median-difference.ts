const PAIRS_MIN = 16;
const PAIRS_MAX = 160;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/**
 * The difference of the medians of two kinds of requests, in ms, which are sent in turn. On a busy machine, more of them
 * are sent: they even out the noise, but not a systematic difference.
 */
export const medianDifference = async (
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
  enoughMs: number,
): Promise<number> => {
  const [ones, others]: [number[], number[]] = [[], []];
  const difference = (): number => Math.abs(median(ones) - median(others));
  while (ones.length < PAIRS_MIN || (difference() >= enoughMs && ones.length < PAIRS_MAX)) {
    if (ones.length % 2 === 0) ones.push(await timed(one));
    others.push(await timed(other));
    if (ones.length < others.length) ones.push(await timed(one));
  }
  return difference();
};
