import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * Data that cannot be rebuilt from the log.
 * - `secrets`: encrypted; requests cannot read the table. A sweep deletes secrets without an owner.
 * - `personal_keys`: the keys are in `secrets`. Every change raises `version`. The row stays when its keys
 * are erased, so that lost keys are distinguishable from erased ones.
 * - `forgettings`: an operator's erasures, without names: pending until all agents were notified. `members`:
 * deleted rows by audience.
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
