import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/** Like the event sources. Catalog items are in the event log only. */
export const catalogs = {
  name: '0.2-catalogs',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'catalogs',
      (table) => {
        table.uuid('id').notNullable();
        table.integer('advertiser_id').notNullable();
        code(table, 'key').notNullable();
        code(table, 'status').notNullable();
        table.bigInteger('revision').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
        table.index(['customer_id', 'key'], 'catalogs_by_key');
        table.index(['customer_id', 'advertiser_id', 'status', 'created_at', 'id'], 'catalogs_by_advertiser');
      },
      { fillfactor: 85 },
    );
  },
};
