import type { Knex } from 'knex';

/**
 * `whole_at`: where the log ended when the read model was last made anew. Before it is there again its rows may
 * say what was true once, and not any more: an account that is disabled may look open.
 */
export const credentialsRebuilt = {
  name: '0020-credentials-rebuilt',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`alter table projection_checkpoints add whole_at text collate "C" not null default '-'`);
  },
};
