import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `projection_checkpoints.epoch` is raised when rows change without a new event (a retried parked stream, a
 *   rebuild). Rows are a function of position and epoch, so both together are a sound cache key. A checkpoint is one
 *   row that is updated many times a second: free space in its page keeps updates out of the index.
 * - `projection_checkpoints.whole_at`: the end of the log when the read model was last emptied. Until the checkpoint
 *   reaches it, rows may show old states: a disabled account may look open.
 * - `read_model_copies`: read models that are being rebuilt (docs/design/records/0007-online-rebuild.md), at most one row
 *   for each. A copy has its own schema. A row here says that the schema is complete, and `made_with` names the
 *   program and schema that made it: others may derive other rows from the same events.
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
