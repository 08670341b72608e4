import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

const SCOPES = ['exchange:read', 'exchange:write', 'exchange:admin', 'exchange:review'];

const createInvitations = (knex: Knex): Promise<void> =>
  createTenantTable(knex, 'invitations', (table) => {
    code(table, 'invitation_id').notNullable();
    table.text('email').notNullable();
    table.text('role').notNullable();
    code(table, 'invited_by');
    table.timestamp('created_at').notNullable();
    table.timestamp('expires_at').notNullable();
    table.boolean('announced').notNullable().defaultTo(false);
    table.primary(['customer_id', 'invitation_id']);
    table.index(['customer_id', 'created_at', 'invitation_id'], 'invitations_by_age');
    table.index(['expires_at'], 'invitations_ended');
    table.index(['created_at'], 'invitations_unannounced', { predicate: knex.whereRaw('not announced') });
  });

const createBrowserOrigins = (knex: Knex): Promise<void> =>
  createTenantTable(knex, 'browser_origins', (table) => {
    code(table, 'origin_id').notNullable();
    code(table, 'origin').notNullable();
    table.text('label');
    code(table, 'user_id').notNullable();
    table.timestamp('created_at').notNullable();
    table.timestamp('removed_at');
    table.primary(['customer_id', 'origin_id']);
    table.index(['origin', 'customer_id'], 'browser_origins_by_origin', {
      predicate: knex.whereNull('removed_at'),
    });
    table.index(['removed_at'], 'browser_origins_removed', { predicate: knex.whereNotNull('removed_at') });
  });

/**
 * `api_keys` is not a read model: no event contains a secret or its hash, so a row is written before its
 * event.
 * - `accounts.access_revision`: the revision that set `disabled_at`; 0 before the first.
 * - `users.role`: null for a removed user, so that no late write brings the user back. `revision`: of the event that set
 * the role.
 * - `invitations`: no event contains the address, so a row is written before its event, like a key's. It is deleted when the
 * invitation ends.
 * - `browser_origins.removed_at`: kept for some days, for the same reason as a removed user.
 * - `api_keys.announced`: the key's event is in the stream. A key is not valid before.
 * - `api_keys.sealed_secret` lets the issuer repeat the request (docs/design/access.md): encrypted under its
 * secret, deleted after a day.
 */
export const accounts = {
  name: '0.2-accounts',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw('create sequence customer_ids as integer');
    await knex.raw(`
      create function current_customer_id() returns bigint language sql stable
      return nullif(current_setting('app.customer_id', true), '')::bigint
    `);
    await createTenantTable(knex, 'accounts', (table) => {
      table.text('name').notNullable();
      table.timestamp('disabled_at');
      table.bigInteger('access_revision').notNullable().defaultTo(0);
      table.integer('seller_id');
      table.text('domain');
      table.primary(['customer_id']);
    });
    await createTenantTable(knex, 'users', (table) => {
      code(table, 'user_id').notNullable();
      table.text('name').notNullable();
      table.text('role').checkIn(['admin', 'member', 'seller'], 'users_role_check');
      table.bigInteger('revision').notNullable();
      table.timestamp('created_at').notNullable();
      table.primary(['customer_id', 'user_id']);
      table.index(['customer_id', 'created_at', 'user_id'], 'users_by_age', {
        predicate: knex.whereNotNull('role'),
      });
    });
    await createInvitations(knex);
    await createBrowserOrigins(knex);
    await createTenantTable(knex, 'api_keys', (table) => {
      code(table, 'key_id').primary();
      table.binary('secret_hash').notNullable();
      table.text('name').notNullable();
      table.timestamp('created_at').notNullable().defaultTo(knex.raw('now()'));
      table.timestamp('revoked_at');
      code(table, 'user_id').notNullable();
      table.specificType('scopes', 'text[]').notNullable();
      table.text('masked_key').notNullable();
      table.timestamp('expires_at');
      table.timestamp('last_used_at');
      table.binary('sealed_secret');
      table.boolean('announced').notNullable().defaultTo(false);
      table.timestamp('sealed_until');
      table.check(`scopes <@ array['${SCOPES.join("','")}']`, undefined, 'api_keys_scopes_check');
      table.index(['customer_id', 'created_at', 'key_id'], 'api_keys_by_customer');
      table.index(['sealed_until'], 'api_keys_sealed', { predicate: knex.whereNotNull('sealed_secret') });
      table.index(['created_at'], 'api_keys_unannounced', { predicate: knex.whereRaw('not announced') });
    });
    await knex.raw(`
      create index api_keys_ended on api_keys (least(revoked_at, expires_at))
        where revoked_at is not null or expires_at is not null
    `);
  },
};
