import type { Knex } from 'knex';

/**
 * One row for each subject's window of requests, when no Redis counts them. Unlogged: counters that are lost in
 * a crash of the database cost one window, and keeping them safe would cost every request. Nothing indexed
 * changes while a window is open, so that counting rewrites rows in place.
 */
export const rateLimits = {
  name: '0007-rate-limits',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create unlogged table rate_windows (
        subject    text collate "C" primary key,
        count      integer not null,
        closes_at  timestamptz not null
      ) with (fillfactor = 50);
      create index rate_windows_by_close on rate_windows (closes_at);
    `);
  },
};
