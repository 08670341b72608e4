import type { Knex } from 'knex';
import { createTenantTable } from './schema.ts';

/** Previewed calls of all routes that ask for a confirmation. `used_by`: the command that used the confirmation. */
export const confirmations = {
  name: '0.2-confirmations',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(knex, 'confirmations', (table) => {
      table.uuid('uid').notNullable();
      table.binary('fingerprint').notNullable();
      table.timestamp('created_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.uuid('used_by');
      table.primary(['customer_id', 'uid']);
      table.index(['created_at'], 'confirmations_by_age');
    });
  },
};
