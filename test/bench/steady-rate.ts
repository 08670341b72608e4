/**
 * The rate per second in the middle four fifths. The first ones include one-time work, the last ones wait for each
 * other.
 * @param doneAt completion times in ms, in any order
 */
export const steadyRate = (doneAt: readonly number[]): number => {
  const sorted = [...doneAt].sort((a, b) => a - b);
  const [from, to] = [Math.floor(sorted.length * 0.1), Math.floor(sorted.length * 0.9)];
  return ((to - from) * 1_000) / ((sorted[to] ?? 0) - (sorted[from] ?? 0));
};
