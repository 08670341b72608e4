import { Client } from 'pg';
import { fillBlocks } from '../../src/projections/engine/blocks/fill-blocks.ts';
import type { Projection } from '../../src/projections/engine/projection.ts';

/** Of rows that were written without their projector, behind its fence: it runs beside it. */
export const makeListBlocks = async (url: string, { name, blocks = [] }: Projection): Promise<void> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query('select from projection_checkpoints where name = $1 for update', [name]);
    for (const of of blocks) await fillBlocks(client, of);
    await client.query('commit');
  } finally {
    await client.end();
  }
};
