import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `oauth_grants`: written by the command after its event, and by the read model `credentials` after a crash.
 * - `oauth_clients.registered_by`: `self` (RFC 7591) or `operator`. Clients with a metadata document have no row.
 * - `oauth_records`: codes, tokens and interactions of `oidc-provider`. `id_hash` is the SHA-256 of the
 * code, token or id, which is stored nowhere. `uses` counts the successors of a refresh token. `kept_until`: deleted from then on.
 */
export const oauth = {
  name: '0.2-oauth',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(knex, 'oauth_grants', (table) => {
      code(table, 'grant_id').primary();
      code(table, 'user_id').notNullable();
      code(table, 'client_id').notNullable();
      table.text('client_name').notNullable();
      table.text('client_host');
      table.specificType('scopes', 'text[]').notNullable();
      table.specificType('resources', 'text[]').notNullable();
      table.timestamp('created_at').notNullable();
      table.timestamp('expires_at').notNullable();
      table.timestamp('revoked_at');
      table.timestamp('last_used_at');
      table.index(['customer_id', 'created_at', 'grant_id'], 'oauth_grants_by_customer');
      table.index(['client_id'], 'oauth_grants_by_client');
    });
    await knex.raw('create index oauth_grants_ended on oauth_grants (least(revoked_at, expires_at))');
    await knex.schema.createTable('oauth_clients', (table) => {
      code(table, 'client_id').primary();
      table.jsonb('metadata').notNullable();
      code(table, 'registered_by').notNullable();
      table.timestamp('registered_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.index(['registered_at'], 'oauth_clients_by_age');
    });
    await knex.schema.createTable('oauth_records', (table) => {
      code(table, 'kind').notNullable();
      table.binary('id_hash').notNullable();
      code(table, 'grant_id');
      table.jsonb('payload').notNullable();
      table.timestamp('consumed_at');
      table.smallint('uses').notNullable().defaultTo(0);
      table.timestamp('expires_at').notNullable();
      table.timestamp('kept_until').notNullable();
      table.primary(['kind', 'id_hash']);
      table.index(['kept_until'], 'oauth_records_by_end');
    });
  },
};
