import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

const createLeases = async (knex: Knex): Promise<void> => {
  await knex.schema.createTable('realtime_nodes', (table) => {
    table.uuid('node').primary();
    table.timestamp('expires_at').notNullable();
    table.index(['expires_at'], 'realtime_nodes_by_end');
  });
  await createTenantTable(knex, 'realtime_leases', (table) => {
    code(table, 'user_id').notNullable();
    table.specificType('slot', 'smallint').notNullable();
    table.uuid('node').notNullable().references('realtime_nodes.node').onDelete('CASCADE');
    table.uuid('stream').notNullable();
    table.primary(['customer_id', 'user_id', 'slot']);
    table.index(['node', 'stream'], 'realtime_leases_of_node');
  });
};

/**
 * - `notifications`: what events told the account's clients, in the order of the log, kept 30 days. Streams,
 * `GET /events` and replays of webhooks read it. `position`, `idx`: of the event, and among its notifications.
 * - `notification_streams`: the advertiser of each stream that has one; later events do not name it.
 * - `realtime_leases`: the open streams of each user, with a number up to the limit. They end with those of
 * `realtime_nodes`, which each process renews for all its streams at once.
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
      table.index(
        ['customer_id', 'advertiser_id', 'kind', 'position', 'idx'],
        'notifications_by_advertiser',
        {
          predicate: knex.whereNotNull('advertiser_id'),
        },
      );
      table.index(['occurred_at'], 'notifications_by_age');
      table.index(['customer_id', 'occurred_at'], 'notifications_of_period');
    });
    await createTenantTable(knex, 'notification_streams', (table) => {
      code(table, 'stream').notNullable();
      table.integer('advertiser_id').notNullable();
      table.primary(['customer_id', 'stream']);
    });
    await createLeases(knex);
  },
};
