import type { Knex } from 'knex';
import { code } from './schema.ts';

/**
 * For `rate-limiter-flexible`, which relies on the column order. Unlogged: a crash loses one window's
 * counters. No indexed column changes in a window, so updates stay in place.
 */
export const rateLimits = {
  name: '0.2-rate-limits',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('rate_limits', (table) => {
      code(table, 'key').primary();
      table.integer('points').notNullable();
      // Ms since 1970.
      table.bigInteger('expire').notNullable();
      table.index(['expire'], 'rate_limits_by_end');
    });
    await knex.raw('alter table rate_limits set unlogged');
    await knex.raw('alter table rate_limits set (fillfactor = 50)');
  },
};
