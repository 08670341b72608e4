/**
 * Which lists this program counts in blocks (docs/records/0010-list-blocks.md), and under which kinds: another number with
 * every list that comes and every kind that changes. A program with another number writes rows without these blocks, and one
 * that finds another number makes all of them anew, or of blocks without runs the runs.
 */
const BLOCKS_KEPT = 3;
/** The number of programs that kept the same blocks, and no runs of them. */
export const WITHOUT_RUNS = 2;

/**
 * SQL of what a checkpoint's `blocks_at` is where rows and blocks were written together up to a position and an epoch;
 * each may be a column or a parameter.
 */
export const blocksAtSql = ({ position = 'position', epoch = 'epoch', kept = BLOCKS_KEPT } = {}): string =>
  `${position} || ' ' || ${epoch} || ' ${kept}'`;

/**
 * Before a kind: what a whole run of a list's blocks has of it. It is kept where the run ends, that is, where the next one
 * begins; no kind begins with it.
 */
export const RUN = '+';
