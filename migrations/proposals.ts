import type { Knex } from 'knex';
import { createTenantTable } from './schema.ts';

export const proposals = {
  name: '0.2-proposals',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'proposal_requests',
      (table) => {
        table.uuid('id').notNullable();
        table.bigInteger('revision').notNullable();
        table.uuid('campaign_id').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
        table.index(['customer_id', 'campaign_id', 'created_at', 'id'], 'proposal_requests_by_age');
      },
      { fillfactor: 50 },
    );
  },
};
