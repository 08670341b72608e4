import type { Knex } from 'knex';
import { code } from './schema.ts';

/**
 * The table of `rate-limiter-flexible`, in which several processes without Redis count. The package relies on the order of
 * its columns. Unlogged: counters that a crash of the database loses cost one window, and keeping them safe would cost every
 * request. Nothing indexed changes while a window is open, so counting rewrites rows in place.
 */
export const rateLimits = {
  name: '0.2-rate-limits',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('rate_limits', (table) => {
      code(table, 'key').primary();
      table.integer('points').notNullable();
      // The end of the window, ms since 1970.
      table.bigInteger('expire').notNullable();
      table.index(['expire'], 'rate_limits_by_end');
    });
    await knex.raw('alter table rate_limits set unlogged');
    await knex.raw('alter table rate_limits set (fillfactor = 50)');
  },
};
