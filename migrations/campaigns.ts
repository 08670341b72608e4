import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/** Account totals are under advertiser 0. `campaigns_by_end` can page past flights that end together. */
export const campaigns = {
  name: '0.2-campaigns',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'campaigns',
      (table) => {
        table.uuid('id').notNullable();
        table.bigInteger('revision').notNullable();
        table.integer('advertiser_id').notNullable();
        code(table, 'phase').notNullable();
        table.boolean('archived').notNullable();
        table.timestamp('ends_at').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
        const order = ['created_at', 'id'];
        table.index(['customer_id', 'archived', ...order], 'campaigns_by_age');
        table.index(['customer_id', 'phase', ...order], 'campaigns_by_phase');
        table.index(['customer_id', 'advertiser_id', 'archived', ...order], 'campaigns_by_advertiser');
        table.index(['customer_id', 'advertiser_id', 'phase', ...order], 'campaigns_by_advertiser_phase');
        table.index(['ends_at', 'customer_id', 'id'], 'campaigns_by_end', {
          predicate: knex.whereRaw(`phase in ('active', 'paused')`),
        });
      },
      { fillfactor: 85, external: 'body' },
    );
    await createTenantTable(
      knex,
      'campaign_counts',
      (table) => {
        table.integer('advertiser_id').notNullable();
        code(table, 'phase').notNullable();
        table.boolean('archived').notNullable();
        table.bigInteger('count').notNullable();
        table.primary(['customer_id', 'advertiser_id', 'phase', 'archived']);
      },
      { fillfactor: 50 },
    );
  },
};
