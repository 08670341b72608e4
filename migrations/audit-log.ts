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
    // In the order of the log: the clocks of several nodes may disagree.
    table.index(['customer_id', 'correlation_id', 'position'], 'audit_entries_by_cause');
    table.index(['customer_id', 'part'], 'audit_entries_by_key', present(knex, 'key_user_id'));
    // For the last entry of a stream. Partial, so that the planner does not use it for searches by time.
    table.index(['customer_id', 'stream', 'revision'], 'audit_entries_last_of_stream', {
      predicate: knex.whereRaw('revision >= 0'),
    });
    // Lists of the past find the resources of an account or advertiser by their first events.
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
 * - `audit_entries`: a narrow row for each event, kept as long as the log, without changes: the query folds
 * the stream. `campaign_ids`: after the event; the next entry derives from it. `user_id`: the owner of the
 * actor's key; `key_user_id`: of the issued key.
 * - `audit_campaigns`: a creative can be in several.
 * - `audit_causes`: further requests that caused an event. `occurred_at`: the time of the event;
 * `causation_id`: the other request's command.
 * - `audit_attempts`: refused requests, without events, kept for some weeks (docs/design/causes.md).
 * Each filter has an index that continues in the order of the answer.
 */
export const auditLog = {
  name: '0.2-audit-log',
  up: async (knex: Knex): Promise<void> => {
    await createEntries(knex);
    await createLinks(knex);
    await createAttempts(knex);
  },
};
