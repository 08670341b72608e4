import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

const createReceipts = (knex: Knex): Promise<void> =>
  createTenantTable(
    knex,
    'conversion_receipts',
    (table) => {
      table.uuid('source_id').notNullable();
      table.timestamp('hour').notNullable();
      code(table, 'reason').notNullable();
      table.integer('advertiser_id').notNullable();
      table.bigInteger('event_count').notNullable();
      table.primary(['customer_id', 'source_id', 'hour', 'reason']);
      table.index(['customer_id', 'advertiser_id', 'hour'], 'conversion_receipts_by_advertiser');
      table.index(['hour'], 'conversion_receipts_by_hour');
    },
    { fillfactor: 70 },
  );

/**
 * See docs/design/conversions.md.
 * - `conversion_segments`: 16 bytes an item and a command, without index or compression: a process reads all
 * of a source.
 * - `conversion_commands`: a command's revisions, as long as it may be repeated.
 * - `conversion_receipts`: by hour of arrival; rows of accepted events have an empty reason.
 * - `conversion_health`: its revision says which events all tables contain.
 */
export const conversions = {
  name: '0.2-conversions',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(knex, 'conversion_segments', (table) => {
      table.uuid('source_id').notNullable();
      table.bigInteger('first_revision').notNullable();
      table.bigInteger('last_revision').notNullable();
      table.timestamp('recorded_at').notNullable();
      table.binary('fingerprints').notNullable();
      table.binary('commands').notNullable();
      table.primary(['customer_id', 'source_id', 'last_revision']);
      table.index(['recorded_at'], 'conversion_segments_by_age');
    });
    await knex.raw(`
      alter table conversion_segments
        alter column fingerprints set storage external, alter column commands set storage external
    `);
    await createTenantTable(knex, 'conversion_commands', (table) => {
      table.uuid('source_id').notNullable();
      table.uuid('command_id').notNullable();
      table.bigInteger('revision').notNullable();
      table.timestamp('recorded_at').notNullable();
      table.primary(['customer_id', 'source_id', 'command_id', 'revision']);
      table.index(['recorded_at'], 'conversion_commands_by_age');
    });
    await createTenantTable(
      knex,
      'conversion_hours',
      (table) => {
        table.uuid('source_id').notNullable();
        table.timestamp('hour').notNullable();
        code(table, 'event_type').notNullable();
        code(table, 'currency').notNullable();
        table.integer('advertiser_id').notNullable();
        table.bigInteger('event_count').notNullable();
        table.specificType('value_sum', 'numeric').notNullable();
        table.primary(['customer_id', 'source_id', 'hour', 'event_type', 'currency']);
        table.index(['customer_id', 'advertiser_id', 'hour'], 'conversion_hours_by_advertiser');
        table.index(['customer_id', 'hour'], 'conversion_hours_of_account');
        table.index(['hour'], 'conversion_hours_by_hour');
      },
      { fillfactor: 70 },
    );
    await createReceipts(knex);
    await createTenantTable(
      knex,
      'conversion_health',
      (table) => {
        table.uuid('source_id').notNullable();
        table.integer('advertiser_id').notNullable();
        table.bigInteger('revision').notNullable();
        code(table, 'status').notNullable();
        table.timestamp('last_event_at');
        table.timestamp('last_event_received_at');
        code(table, 'last_event_type');
        table.text('last_error');
        table.timestamp('last_error_at');
        table.primary(['customer_id', 'source_id']);
      },
      { fillfactor: 50 },
    );
  },
};
