import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * Not read models: no event contains an address, a hash or a secret (docs/design/sign-in.md).
 * - `user_addresses`: the only lasting place of addresses. `email_key`: as addresses are compared.
 * `announced`: the user's event is in the stream; without it, the sweep decides.
 * - `logins.totp_pending_id`: a seed that no code has confirmed yet. `totp_last_step`: no code of it or of an
 * earlier step is accepted. `code_failures`: tries since the last right code.
 * - `sessions.ends_at`: also set when a session is ended, so that one index finds the rows to delete.
 * `end_recorded`: the end is in the session's stream.
 * - `one_time_links.used_by`: the command that used it, which may repeat.
 */
export const signIn = {
  name: '0.2-sign-in',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(knex, 'user_addresses', (table) => {
      code(table, 'user_id').notNullable();
      table.text('email').notNullable();
      code(table, 'email_key').notNullable().unique();
      table.timestamp('verified_at');
      table.timestamp('created_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.boolean('announced').notNullable().defaultTo(false);
      table.primary(['customer_id', 'user_id']);
      table.index(['created_at'], 'user_addresses_unannounced', {
        predicate: knex.whereRaw('not announced'),
      });
    });
    await createTenantTable(knex, 'logins', (table) => {
      code(table, 'user_id').notNullable();
      table.text('password_hash').notNullable();
      table.timestamp('password_changed_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.uuid('totp_secret_id');
      table.uuid('totp_pending_id');
      table.bigInteger('totp_last_step');
      table.specificType('lookup_codes', 'bytea[]').notNullable().defaultTo('{}');
      table.integer('code_failures').notNullable().defaultTo(0);
      table.timestamp('code_failed_at');
      table.primary(['customer_id', 'user_id']);
    });
    await sessions(knex);
    await createTenantTable(knex, 'one_time_links', (table) => {
      table.binary('token_hash').primary();
      code(table, 'purpose').notNullable();
      code(table, 'user_id');
      code(table, 'subject');
      table.jsonb('data').notNullable().defaultTo('{}');
      table.timestamp('expires_at').notNullable();
      table.timestamp('used_at');
      table.uuid('used_by');
      table.index(['expires_at'], 'one_time_links_by_end');
      table.index(['customer_id', 'user_id'], 'one_time_links_of_user');
    });
  },
};

const sessions = async (knex: Knex): Promise<void> => {
  await createTenantTable(
    knex,
    'sessions',
    (table) => {
      code(table, 'session_id').primary();
      code(table, 'user_id').notNullable();
      table.binary('secret_hash').notNullable().unique();
      code(table, 'method').notNullable();
      table.timestamp('auth_time').notNullable();
      table.timestamp('created_at').notNullable();
      table.timestamp('last_seen_at').notNullable();
      table.timestamp('ends_at').notNullable();
      table.text('address_prefix').notNullable();
      table.text('agent');
      table.timestamp('ended_at');
      code(table, 'end_reason');
      table.boolean('end_recorded').notNullable().defaultTo(false);
      table.index(['customer_id', 'user_id', 'created_at', 'session_id'], 'sessions_of_user');
      table.index(['ends_at'], 'sessions_by_end');
    },
    { fillfactor: 80 },
  );
  await knex.raw(`
    create index sessions_to_record on sessions (ended_at, session_id)
      where ended_at is not null and not end_recorded
  `);
};
