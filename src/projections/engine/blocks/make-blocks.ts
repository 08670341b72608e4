import type { Pool } from 'pg';
import { inTransaction } from '../../../shared/postgres/pool.ts';
import { blocksAtSql, WITHOUT_RUNS } from '../../../shared/read-your-writes/kept-blocks.ts';
import { CheckpointMovedError, type Checkpoint } from '../checkpoint.ts';
import { fillBlocks } from './fill-blocks.ts';
import { fillRuns } from './runs.ts';
import type { Projection } from '../projection.ts';

/**
 * Makes the blocks of a read model's lists of its rows, behind its fence: some of the rows were written by a program that
 * did not know of them. No page is found by them before (`query/resources/page-keys.ts`). It takes some seconds for a
 * million rows, in which this read model stands still; killed in the middle, the next runner begins again. Blocks that a
 * program of before there were runs has written with all rows are as they should be: their runs alone are made, at once.
 * @throws CheckpointMovedError
 */
export const makeBlocks = (pool: Pool, projection: Projection, checkpoint: Checkpoint): Promise<Checkpoint> =>
  inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ hasAllButRuns: boolean }>(
      `select blocks_at = ${blocksAtSql({ kept: WITHOUT_RUNS })} as "hasAllButRuns"
       from projection_checkpoints where name = $1 for update`,
      [projection.name],
    );
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
    const fill = rows[0]?.hasAllButRuns === true ? fillRuns : fillBlocks;
    for (const blocks of projection.blocks ?? []) await fill(client, blocks);
    return { ...checkpoint, hasBlocks: true };
  });
