/** So many failures are no longer those of single items: whatever all of them need is away. */
const FAILURES_MAX = 20;

/**
 * Does the work for each item, one after the other, also behind one that fails: what cannot be done for one of them
 * must not keep the others from it.
 * @throws the first failure, when all have been tried, or too many have failed
 */
export const eachOf = async <Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const item of items) {
    await work(item).catch((error: unknown) => failures.push(error));
    if (failures.length === FAILURES_MAX) break;
  }
  if (failures.length > 0) throw failures[0];
};
