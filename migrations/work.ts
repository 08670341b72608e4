import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * `work_list`: what workers are to do next, for every kind of work. All times are the database's.
 *
 * - `kind`, `customer_id`, `key`: what is to be worked on, e.g. one syndication record.
 * - `revision`: what was asked for last, in the order of its kind. `asked_at`: when. A worker that was given the
 *   entry before that does not take it off the list.
 * - `data`: what the worker needs besides the key.
 * - `due_at`: when a worker may take it. `infinity`: when it is asked for again. `not_before`: the earliest time of the
 *   next run.
 * - `leased_until`: a worker works on it; it is offered again at this time. `leased_revision`: the revision that was offered.
 * - `attempts`: tries that failed since the revision was asked for. `lost`: jobs that ended without a result.
 * - `last_error`, `failed_at`: why the last try failed, and when.
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
