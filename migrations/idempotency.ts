import type { Knex } from 'knex';
import { code } from './schema.ts';

/**
 * `idempotency_keys`: first the claim of the running request, then its answer for 24 h, by the database's
 * clock. `snapshots` may be emptied at any time.
 */
export const idempotency = {
  name: '0.2-idempotency',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('idempotency_keys', (table) => {
      code(table, 'scope').notNullable();
      code(table, 'key').notNullable();
      table.binary('fingerprint').notNullable();
      table.text('reserved').notNullable();
      table.timestamp('lease_until').notNullable();
      table.timestamp('claimed_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.timestamp('completed_at');
      table.smallint('status');
      table.text('body');
      table.primary(['scope', 'key']);
      table.index(['claimed_at'], 'idempotency_keys_by_age');
    });
    await knex.raw('alter table idempotency_keys set (fillfactor = 70)');
    await knex.raw('alter table idempotency_keys alter column body set storage external');
    await knex.schema.createTable('snapshots', (table) => {
      code(table, 'stream').primary();
      table.integer('fold_version').notNullable();
      table.bigInteger('revision').notNullable();
      code(table, 'position').notNullable();
      table.text('state').notNullable();
      table.timestamp('saved_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
    });
  },
};
