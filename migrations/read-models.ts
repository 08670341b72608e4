import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `projection_checkpoints.epoch`: raised when rows change without a new event (a parked stream's retry, a
 * rebuild): position and epoch together are a sound cache key. Free space in the page keeps updates out of
 * the index.
 * - `projection_checkpoints.whole_at`: the end of the log at the last reset. Before it, rows may show old
 * states: a disabled account may look open.
 * - `read_model_copies`: rebuilds (docs/design/records/0007-online-rebuild.md). A row says that the copy's
 * schema is complete; `made_with` names program and schema, because others may derive other rows.
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
