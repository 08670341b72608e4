import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * The event sources read model. `body` is the folded source as JSON text; the other columns are what it is found and ordered
 * by: by the buyer's key in the whole account, active ones first, because every call of conversions may ask and a key like
 * `web` belongs to as many sources as the account has advertisers; and as an advertiser's list.
 */
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
