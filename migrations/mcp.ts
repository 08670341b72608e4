import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `mcp_sessions`: sessions of agents that speak a protocol version up to 2025-11-25, each under the hash of its id, with the
 *   addresses of the resources it follows.
 * - `mcp_questions`: what the service asks a session's client, e.g. for a person's consent, until it is answered.
 */
export const mcp = {
  name: '0.2-mcp',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(knex, 'mcp_sessions', (table) => {
      table.binary('id_hash').notNullable();
      code(table, 'credential').notNullable();
      code(table, 'node').notNullable();
      table.jsonb('initialize').notNullable();
      table.specificType('followed', 'text[]').notNullable().defaultTo('{}');
      table.timestamp('started_at').notNullable().defaultTo(knex.fn.now());
      table.timestamp('used_at').notNullable().defaultTo(knex.fn.now());
      table.primary(['id_hash']);
      table.index(['customer_id', 'credential', 'used_at'], 'mcp_sessions_of_credential');
      table.index(['used_at'], 'mcp_sessions_by_use');
      table.index(['node'], 'mcp_sessions_of_node');
    });
    await createTenantTable(knex, 'mcp_questions', (table) => {
      table.binary('session_hash').notNullable().references('mcp_sessions.id_hash').onDelete('CASCADE');
      table.uuid('id').notNullable();
      code(table, 'answer');
      table.primary(['session_hash', 'id']);
    });
  },
};
