import type { Knex } from 'knex';

/**
 * Copies of read models that are being made beside the live ones (docs/records/0007-online-rebuild.md). Each has a schema
 * of its own with its tables, its checkpoint and its parked streams; a row here says that the schema is whole and what
 * made it, so that whoever finds it knows whether to go on with it. At most one row a read model.
 */
export const readModelCopies = {
  name: '0033-read-model-copies',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table read_model_copies (
        name        text collate "C" primary key,
        -- The program and the schema that it was made with: others may make other rows of the same events.
        made_with   text not null,
        begun_at    timestamptz not null default clock_timestamp()
      );
    `);
  },
};
