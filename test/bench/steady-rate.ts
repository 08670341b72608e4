/**
 * How many a second, from the times when each was done: of the middle four fifths, as the first ones wait for what is
 * loaded once and the last ones for each other.
 * @param doneAt ms, in any order
 */
export const steadyRate = (doneAt: readonly number[]): number => {
  const sorted = [...doneAt].sort((a, b) => a - b);
  const [from, to] = [Math.floor(sorted.length * 0.1), Math.floor(sorted.length * 0.9)];
  return ((to - from) * 1_000) / ((sorted[to] ?? 0) - (sorted[from] ?? 0));
};
