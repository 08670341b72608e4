import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `proposal_request_counts`: totals cost the same for any number of requests.
 * - `proposal_answers`: objects with whole answers of sellers, until when each is kept.
 */
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
    await createTenantTable(
      knex,
      'proposal_request_counts',
      (table) => {
        table.uuid('campaign_id').notNullable();
        table.bigInteger('count').notNullable();
        table.primary(['customer_id', 'campaign_id']);
      },
      { fillfactor: 50 },
    );
    await createTenantTable(knex, 'proposal_answers', (table) => {
      code(table, 'storage_key').notNullable();
      table.timestamp('kept_until').notNullable();
      table.primary(['storage_key']);
      table.index(['kept_until'], 'proposal_answers_by_end');
    });
  },
};
