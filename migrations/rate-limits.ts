import type { Knex } from 'knex';
import { code } from './schema.ts';

/**
 * The table of `rate-limiter-flexible`, which counts here when there is no Redis. The package relies on the order of
 * the columns. Unlogged: a database crash loses the counters of one window, and keeping them safe would cost every
 * request. No indexed column changes during a window, so counting updates rows in place.
 */
export const rateLimits = {
  name: '0.2-rate-limits',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('rate_limits', (table) => {
      code(table, 'key').primary();
      table.integer('points').notNullable();
      // The end of the window, in ms since 1970.
      table.bigInteger('expire').notNullable();
      table.index(['expire'], 'rate_limits_by_end');
    });
    await knex.raw('alter table rate_limits set unlogged');
    await knex.raw('alter table rate_limits set (fillfactor = 50)');
  },
};
