import type { Pool } from 'pg';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { blocksAtSql } from '../../shared/read-your-writes/kept-blocks.ts';
import { CheckpointMovedError, type Checkpoint } from './checkpoint.ts';
import { fillBlocks } from './list-blocks.ts';
import type { Projection } from './projection.ts';

/**
 * Makes the blocks of a read model's lists of its rows, behind its fence: some of the rows were written by a program that
 * did not know of them. No page is found by them before (`query/resources/page-keys.ts`). It takes some seconds for a
 * million rows, in which this read model stands still; killed in the middle, the next runner begins again.
 * @throws CheckpointMovedError
 */
export const makeBlocks = (pool: Pool, projection: Projection, checkpoint: Checkpoint): Promise<Checkpoint> =>
  inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `update projection_checkpoints set blocks_at = ${blocksAtSql()}
       where name = $1 and position = $2 and epoch = $3`,
      [projection.name, checkpoint.position, checkpoint.epoch],
    );
    if (rowCount !== 1) {
      throw new CheckpointMovedError(
        `the checkpoint of ${projection.name} is no longer at ${checkpoint.position}`,
      );
    }
    for (const blocks of projection.blocks ?? []) await fillBlocks(client, blocks);
    return { ...checkpoint, hasBlocks: true };
  });
