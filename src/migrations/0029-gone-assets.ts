import type { Knex } from 'knex';

/** Reservations that have expired and assets that were deleted leave the read model: they are found by their age. */
export const goneAssets = {
  name: '0029-gone-assets',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create index assets_gone on assets (expires_at) where status in ('EXPIRED', 'REMOVED');
    `);
  },
};
