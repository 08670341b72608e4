import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/** `advertiser_counts`: totals cost the same for any size. Each index includes the filters' columns. */
export const advertisers = {
  name: '0.2-advertisers',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw('create sequence advertiser_ids as integer');
    await createTenantTable(
      knex,
      'advertisers',
      (table) => {
        table.integer('id').notNullable();
        table.bigInteger('revision').notNullable();
        code(table, 'status').notNullable();
        table.boolean('sandbox').notNullable();
        table.text('name').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
      },
      { fillfactor: 85, external: 'body' },
    );
    await knex.raw(`
      create index advertisers_by_status on advertisers (customer_id, status, created_at, id) include (sandbox);
      create index advertisers_by_age on advertisers (customer_id, created_at, id) include (sandbox);
    `);
    await createTenantTable(
      knex,
      'advertiser_counts',
      (table) => {
        code(table, 'status').notNullable();
        table.boolean('sandbox').notNullable();
        table.bigInteger('count').notNullable();
        table.primary(['customer_id', 'status', 'sandbox']);
      },
      { fillfactor: 50 },
    );
  },
};
