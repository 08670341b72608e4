import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/** Conversion calls search by key, which advertisers may share: its index finds active sources first. */
export const eventSources = {
  name: '0.2-event-sources',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'event_sources',
      (table) => {
        table.uuid('id').notNullable();
        table.integer('advertiser_id').notNullable();
        code(table, 'key').notNullable();
        code(table, 'status').notNullable();
        table.bigInteger('revision').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
        table.index(['customer_id', 'key', 'status'], 'event_sources_by_key_and_status');
        table.index(
          ['customer_id', 'advertiser_id', 'status', 'created_at', 'id'],
          'event_sources_by_advertiser',
        );
      },
      { fillfactor: 85 },
    );
  },
};
