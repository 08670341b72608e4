import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

const present = (knex: Knex, column: string) => ({ predicate: knex.whereNotNull(column) });

const createEntries = async (knex: Knex): Promise<void> => {
  await createTenantTable(knex, 'audit_entries', (table) => {
    table.timestamp('occurred_at').notNullable();
    code(table, 'position').notNullable();
    code(table, 'stream').notNullable();
    table.bigInteger('revision').notNullable();
    table.uuid('event_id').notNullable();
    code(table, 'type').notNullable();
    code(table, 'resource_type').notNullable();
    code(table, 'part');
    table.integer('advertiser_id');
    table.specificType('campaign_ids', 'text[]');
    code(table, 'actor').notNullable();
    code(table, 'user_id');
    code(table, 'key_user_id');
    code(table, 'request_id').notNullable();
    code(table, 'correlation_id').notNullable();
    code(table, 'causation_id').notNullable();
    table.primary(['customer_id', 'occurred_at', 'position']);
    const order = ['occurred_at', 'position'];
    table.index(['customer_id', 'stream', ...order], 'audit_entries_by_stream');
    table.index(['customer_id', 'part', ...order], 'audit_entries_by_part', present(knex, 'part'));
    table.index(['customer_id', 'type', ...order], 'audit_entries_by_type');
    table.index(['customer_id', 'resource_type', ...order], 'audit_entries_by_resource_type');
    table.index(
      ['customer_id', 'advertiser_id', ...order],
      'audit_entries_by_advertiser',
      present(knex, 'advertiser_id'),
    );
    table.index(['customer_id', 'user_id', ...order], 'audit_entries_by_user', present(knex, 'user_id'));
    // What a request has led to is shown in the order of the log: clocks of several nodes may disagree.
    table.index(['customer_id', 'correlation_id', 'position'], 'audit_entries_by_cause');
    table.index(['customer_id', 'part'], 'audit_entries_by_key', present(knex, 'key_user_id'));
    // The projection looks back for the last entry of a stream. As a partial index, this one is none that the planner
    // could take for a search by time, only to sort the stream's whole history.
    table.index(['customer_id', 'stream', 'revision'], 'audit_entries_last_of_stream', {
      predicate: knex.whereRaw('revision >= 0'),
    });
    // Lists of the past find by these what was there by then, in an account or under an advertiser.
    table.index(['customer_id', 'resource_type', 'occurred_at', 'stream'], 'audit_entries_begun', {
      predicate: knex.whereRaw(`revision = 0 and resource_type in ('ADVERTISER', 'CAMPAIGN', 'ADCP_AGENT')`),
    });
    table.index(
      ['customer_id', 'resource_type', 'advertiser_id', 'occurred_at', 'stream'],
      'audit_entries_begun_of_advertiser',
      { predicate: knex.whereRaw(`revision = 0 and resource_type <> 'ADVERTISER'`) },
    );
  });
};

const createLinks = async (knex: Knex): Promise<void> => {
  await createTenantTable(knex, 'audit_campaigns', (table) => {
    code(table, 'campaign_id').notNullable();
    table.timestamp('occurred_at').notNullable();
    code(table, 'position').notNullable();
    table.primary(['customer_id', 'campaign_id', 'occurred_at', 'position']);
  });
  await createTenantTable(knex, 'audit_causes', (table) => {
    code(table, 'correlation_id').notNullable();
    code(table, 'position').notNullable();
    table.timestamp('occurred_at').notNullable();
    code(table, 'causation_id').notNullable();
    table.primary(['customer_id', 'correlation_id', 'position']);
  });
};

const createAttempts = async (knex: Knex): Promise<void> => {
  await createTenantTable(knex, 'audit_attempts', (table) => {
    table.timestamp('occurred_at').notNullable();
    table.uuid('id').notNullable();
    code(table, 'operation').notNullable();
    code(table, 'resource_type');
    code(table, 'resource_id');
    table.integer('advertiser_id');
    code(table, 'campaign_id');
    code(table, 'actor').notNullable();
    code(table, 'user_id');
    code(table, 'request_id').notNullable();
    table.integer('status').notNullable();
    code(table, 'outcome').notNullable();
    code(table, 'code').notNullable();
    table.text('field');
    table.primary(['customer_id', 'occurred_at', 'id']);
    table.index(['occurred_at'], 'audit_attempts_by_age');
    const order = ['occurred_at', 'id'];
    table.index(['customer_id', 'request_id', ...order], 'audit_attempts_by_request');
    table.index(['customer_id', 'outcome', ...order], 'audit_attempts_by_outcome');
    table.index(['customer_id', 'operation', ...order], 'audit_attempts_by_operation');
    for (const [column, name] of [
      ['resource_type', 'audit_attempts_by_resource_type'],
      ['resource_id', 'audit_attempts_by_resource'],
      ['advertiser_id', 'audit_attempts_by_advertiser'],
      ['campaign_id', 'audit_attempts_by_campaign'],
      ['user_id', 'audit_attempts_by_user'],
    ] as const) {
      table.index(['customer_id', column, ...order], name, present(knex, column));
    }
  });
};

/**
 * - `audit_entries`: what entries of the audit log are found and ordered by, one narrow row for each event. What an event
 *   changed is not in it: the query folds the stream. It is kept as long as the log is, of which it is an index.
 *   `campaign_ids`: after the event; the next event of the stream goes on from it. `user_id`: whose the key was that the
 *   actor came with. `key_user_id`: whose the key is that was issued.
 * - `audit_campaigns`: the campaigns that an entry is found by: a creative is in several.
 * - `audit_causes`: requests that an event follows from beside the one that it has as its correlation. `occurred_at`: of the
 *   event, to find its entry by. `causation_id`: command of the other request that led to the event.
 * - `audit_attempts`: what was refused. It follows from no event; it is kept for some weeks (docs/history.md).
 *
 * Each filter of the audit log has an index that begins with it and goes on in the order of the answer.
 */
export const auditLog = {
  name: '0.2-audit-log',
  up: async (knex: Knex): Promise<void> => {
    await createEntries(knex);
    await createLinks(knex);
    await createAttempts(knex);
  },
};
