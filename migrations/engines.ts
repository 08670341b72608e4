import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

export const engines = {
  name: '0.2-engines',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'engine_connections',
      (table) => {
        table.uuid('id').notNullable();
        table.bigInteger('revision').notNullable();
        code(table, 'status').notNullable();
        table.uuid('secret_id').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
      },
      { fillfactor: 85 },
    );
  },
};
