import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

export const agents = {
  name: '0.2-agents',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'adcp_agents',
      (table) => {
        table.uuid('id').notNullable();
        code(table, 'status').notNullable();
        table.bigInteger('revision').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
        table.index(['customer_id', 'status', 'created_at', 'id'], 'adcp_agents_by_age');
      },
      { fillfactor: 85 },
    );
  },
};
