import type { Knex } from 'knex';

/**
 * What is due is gone through page by page, each behind the last row of the one before (`shared/sweep.ts`). Many rows are
 * due at the same moment, flights at midnight above all: the time alone would have each page sort all of them.
 */
export const dueInOrder = {
  name: '0044-due-in-order',
  isStepwise: true,
  up: async (knex: Knex): Promise<void> => {
    for (const statement of [
      'drop index if exists campaigns_by_end',
      `create index campaigns_by_end on campaigns (ends_at, customer_id, id)
        where phase in ('active', 'paused')`,
      'drop index if exists assets_reserved',
      `create index assets_reserved on assets (expires_at, customer_id, id) where status = 'RESERVED'`,
      'drop index if exists asset_objects_by_age',
      'create index asset_objects_by_age on asset_objects (begun_at, storage_key)',
    ]) {
      await knex.raw(statement);
    }
  },
};
