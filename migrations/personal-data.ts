import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * What cannot be rebuilt from the log.
 *
 * - `secrets`: what users entrust to the service, encrypted, found by its id; no request may read it. A secret whose owner
 *   was never registered, or is gone, is swept away.
 * - `personal_keys`: which keys an account's personal data in the log are sealed with; the keys themselves are among the
 *   secrets. `version` goes up with every change of them. When keys are taken away for good the row stays, so that keys
 *   that are missing are told from those that were meant to go.
 * - `forgettings`: what an operator had forgotten, until all agents have been told, and as a record after that. It names no
 *   person; `members` are the rows that went, by audience.
 */
export const personalData = {
  name: '0.2-personal-data',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('secrets', (table) => {
      table.bigInteger('customer_id').notNullable();
      table.uuid('id').notNullable();
      code(table, 'key_id').notNullable();
      table.binary('sealed').notNullable();
      table.timestamp('created_at').notNullable().defaultTo(knex.raw('now()'));
      code(table, 'owner_kind').notNullable();
      table.uuid('owner_id').notNullable();
      table.primary(['customer_id', 'id']);
    });
    await createTenantTable(knex, 'personal_keys', (table) => {
      table.uuid('id').notNullable();
      table.bigInteger('version').notNullable().defaultTo(0);
      table.timestamp('created_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.timestamp('forgotten_at');
      table.primary(['customer_id', 'id']);
    });
    await createTenantTable(knex, 'forgettings', (table) => {
      table.uuid('id').notNullable();
      code(table, 'scope').notNullable();
      table.integer('subjects').notNullable();
      table.bigInteger('places').notNullable();
      table.jsonb('members').notNullable();
      table.timestamp('done_at').notNullable().defaultTo(knex.raw('now()'));
      table.timestamp('told_at');
      table.primary(['customer_id', 'id']);
      table.index(['customer_id'], 'forgettings_to_tell', { predicate: knex.whereNull('told_at') });
    });
  },
};
