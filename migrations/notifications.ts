import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `notifications`: what events told the account's clients, in the order of the log, kept 30 days. Streams,
 * `GET /events` and replays of webhooks read it. `position`, `idx`: of the event, and among its notifications.
 * - `notification_streams`: the advertiser of each stream that has one; later events do not name it.
 */
export const notifications = {
  name: '0.2-notifications',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(knex, 'notifications', (table) => {
      code(table, 'position').notNullable();
      table.specificType('idx', 'smallint').notNullable();
      table.uuid('id').notNullable();
      code(table, 'kind').notNullable();
      code(table, 'resource_type').notNullable();
      code(table, 'resource_id').notNullable();
      table.integer('advertiser_id');
      table.timestamp('occurred_at').notNullable();
      table.bigInteger('revision').notNullable();
      table.specificType('changed', 'text[]').notNullable();
      code(table, 'path');
      table.primary(['customer_id', 'position', 'idx']);
      table.index(['customer_id', 'kind', 'position', 'idx'], 'notifications_by_kind');
      table.index(['customer_id', 'advertiser_id', 'position', 'idx'], 'notifications_by_advertiser', {
        predicate: knex.whereNotNull('advertiser_id'),
      });
      table.index(['occurred_at'], 'notifications_by_age');
    });
    await createTenantTable(knex, 'notification_streams', (table) => {
      code(table, 'stream').notNullable();
      table.integer('advertiser_id').notNullable();
      table.primary(['customer_id', 'stream']);
    });
  },
};
