/**
 * Which lists this program counts in blocks (docs/records/0010-list-blocks.md), and under which kinds: another number with
 * every list that comes and every kind that changes. A program with another number writes rows without these blocks, and one
 * that finds another number makes all of them anew.
 */
const BLOCKS_KEPT = 2;

/**
 * SQL of what a checkpoint's `blocks_at` is where rows and blocks were written together up to a position and an epoch;
 * each may be a column or a parameter.
 */
export const blocksAtSql = ({ position = 'position', epoch = 'epoch' } = {}): string =>
  `${position} || ' ' || ${epoch} || ' ${BLOCKS_KEPT}'`;
