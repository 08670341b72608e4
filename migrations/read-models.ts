import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * How far each read model is, and which streams it had to leave out.
 *
 * - `projection_checkpoints.epoch` is raised when a read model's rows change other than by a new event (a parked stream is
 *   retried, a rebuild): rows are a function of position and epoch, so a cache by both stays sound. A checkpoint is one row
 *   that is updated many times a second: most of its page is kept free, so that an update stays in the page and out of the
 *   index.
 * - `projection_checkpoints.whole_at`: where the log ended when the read model was last emptied. Until it is there again its
 *   rows may say what was true once: an account that is disabled may look open.
 * - `read_model_copies`: copies that are built beside the live read models (docs/records/0007-online-rebuild.md). Each has a
 *   schema of its own; a row here says that the schema is whole and which program and schema made it, because others may
 *   make other rows of the same events. At most one row a read model.
 */
export const readModels = {
  name: '0.2-read-models',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('projection_checkpoints', (table) => {
      code(table, 'name').primary();
      code(table, 'position').notNullable();
      table.integer('epoch').notNullable().defaultTo(0);
      table.timestamp('updated_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      code(table, 'whole_at').notNullable().defaultTo('-');
    });
    await knex.raw('alter table projection_checkpoints set (fillfactor = 10)');
    await createTenantTable(knex, 'parked_streams', (table) => {
      code(table, 'projection').notNullable();
      code(table, 'stream').notNullable();
      code(table, 'position').notNullable();
      table.bigInteger('revision').notNullable();
      table.text('event_type').notNullable();
      table.text('error').notNullable();
      table.integer('attempts').notNullable();
      table.timestamp('parked_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.primary(['projection', 'stream']);
    });
    await knex.schema.createTable('read_model_copies', (table) => {
      code(table, 'name').primary();
      table.text('made_with').notNullable();
      table.timestamp('begun_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
    });
  },
};
