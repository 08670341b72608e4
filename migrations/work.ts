import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * All times are the database's.
 * - `kind`, `customer_id`, `key`: the object of the work, e.g. one syndication record.
 * - `revision`, `asked_at`: the last request. A worker that was given the entry before does not take it off
 * the list.
 * - `due_at`: the next start; `infinity`: when asked again. `not_before`: the earliest.
 * - `leased_until`: offered again then. `leased_revision`: the revision that was offered.
 * - `attempts`: failed tries of the revision; `last_error`, `failed_at`: the last one. `lost`: jobs without a
 * result.
 */
export const work = {
  name: '0.2-work',
  up: (knex: Knex): Promise<void> =>
    createTenantTable(
      knex,
      'work_list',
      (table) => {
        code(table, 'kind').notNullable();
        table.uuid('key').notNullable();
        code(table, 'revision').notNullable();
        table.timestamp('asked_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
        table.jsonb('data').notNullable().defaultTo('{}');
        table.timestamp('due_at').notNullable().defaultTo(knex.raw('now()'));
        table.timestamp('not_before').notNullable().defaultTo('-infinity');
        table.timestamp('leased_until');
        code(table, 'leased_revision');
        table.integer('attempts').notNullable().defaultTo(0);
        table.integer('lost').notNullable().defaultTo(0);
        table.text('last_error');
        table.timestamp('failed_at');
        // The span whose trace the work continues (W3C).
        table.text('traceparent');
        // The correlation id of the event or the request that led to the work last.
        table.text('correlation_id');
        table.primary(['kind', 'customer_id', 'key']);
        const isFree = knex.whereNull('leased_until');
        table.index(['kind', 'due_at'], 'work_list_due', { predicate: isFree });
        table.index(['kind', 'customer_id', 'due_at'], 'work_list_waiting', { predicate: isFree });
        table.index(['kind', 'customer_id', 'leased_until'], 'work_list_leased', {
          predicate: knex.whereNotNull('leased_until'),
        });
        table.index(['kind'], 'work_list_failing', { predicate: knex.whereNotNull('last_error') });
      },
      { fillfactor: 50 },
    ),
};
