import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/** A read model: what the API shows. */
const createSubscriptions = (knex: Knex): Promise<void> =>
  createTenantTable(
    knex,
    'webhook_subscriptions',
    (table) => {
      table.uuid('id').notNullable();
      code(table, 'status').notNullable();
      table.bigInteger('revision').notNullable();
      table.timestamp('created_at').notNullable();
      table.text('body').notNullable();
      table.primary(['customer_id', 'id']);
      table.index(['customer_id', 'status', 'created_at', 'id'], 'webhook_subscriptions_by_age');
    },
    { fillfactor: 85 },
  );

const createFanOut = async (knex: Knex): Promise<void> => {
  await createTenantTable(knex, 'webhook_endpoints', (table) => {
    table.uuid('subscription_id').notNullable();
    code(table, 'status').notNullable();
    table.text('url').notNullable();
    table.specificType('event_types', 'text[]').notNullable();
    table.specificType('advertiser_ids', 'int[]');
    code(table, 'payload').notNullable();
    code(table, 'authentication').notNullable();
    table.uuid('secret_id').notNullable();
    table.uuid('previous_secret_id');
    table.timestamp('previous_until');
    table.bigInteger('revision').notNullable();
    table.timestamp('changed_at').notNullable();
    table.primary(['customer_id', 'subscription_id']);
  });
  await createTenantTable(knex, 'webhook_streams', (table) => {
    code(table, 'stream').notNullable();
    table.integer('advertiser_id').notNullable();
    table.primary(['customer_id', 'stream']);
  });
  await createTenantTable(knex, 'webhook_messages', (table) => {
    table.uuid('id').notNullable();
    code(table, 'position').notNullable();
    code(table, 'kind').notNullable();
    table.integer('advertiser_id');
    table.timestamp('occurred_at').notNullable();
    table.jsonb('data').notNullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
    table.primary(['customer_id', 'id']);
    table.index(['created_at'], 'webhook_messages_by_age');
  });
};

const createDeliveries = async (knex: Knex): Promise<void> => {
  await createTenantTable(
    knex,
    'webhook_deliveries',
    (table) => {
      table.uuid('id').notNullable();
      table.uuid('subscription_id').notNullable();
      table.uuid('message_id').notNullable();
      code(table, 'kind').notNullable();
      code(table, 'state').notNullable();
      table.timestamp('created_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.timestamp('due_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.timestamp('claimed_until');
      table.integer('attempts').notNullable().defaultTo(0);
      table.integer('round_began_at').notNullable().defaultTo(0);
      table.timestamp('first_attempt_at');
      table.timestamp('last_attempt_at');
      table.integer('last_status');
      code(table, 'last_error');
      table.primary(['customer_id', 'id']);
      table.index(['customer_id', 'subscription_id', 'created_at', 'id'], 'webhook_deliveries_by_age');
      table.index(['customer_id', 'subscription_id', 'state', 'due_at'], 'webhook_deliveries_by_state');
      table.index(['customer_id', 'message_id'], 'webhook_deliveries_of_message');
      table.index(['created_at'], 'webhook_deliveries_expired');
    },
    { fillfactor: 70 },
  );
  await createTenantTable(knex, 'webhook_attempts', (table) => {
    table.uuid('delivery_id').notNullable();
    table.integer('attempt').notNullable();
    table.timestamp('started_at').notNullable();
    table.integer('duration_ms').notNullable();
    table.integer('status');
    code(table, 'error');
    table.text('response_head');
    table.primary(['customer_id', 'delivery_id', 'attempt']);
    table.index(['started_at'], 'webhook_attempts_by_age');
  });
  await createTenantTable(
    knex,
    'webhook_health',
    (table) => {
      table.uuid('subscription_id').notNullable();
      table.integer('failures').notNullable().defaultTo(0);
      table.timestamp('failing_since');
      table.timestamp('slow_until');
      table.timestamp('last_success_at');
      table.timestamp('last_failure_at');
      table.primary(['customer_id', 'subscription_id']);
    },
    { fillfactor: 50 },
  );
};

/**
 * - `webhook_subscriptions`: a read model.
 * - `webhook_endpoints`, `webhook_streams`, `webhook_messages`: written by the fan-out of the log, in one
 * transaction with its checkpoint and the rows of `webhook_deliveries`. Never rebuilt: that would send again.
 * - `webhook_deliveries`: one a (subscription, message), or a further one for a replay. `state`: `due`,
 * `delivered`, `failed`, `canceled`. `due_at`: of the next attempt. `claimed_until`: a worker has it.
 * `round_began_at`: attempts before the last redelivery. Error: a class, e.g. `timeout`, `tls`, `connect`, `status`.
 * - `webhook_attempts`, `webhook_health`: written by workers. `failing_since`: first failure since the last success.
 * All but the subscriptions, endpoints and health are kept 30 days.
 */
export const webhooks = {
  name: '0.2-webhooks',
  up: async (knex: Knex): Promise<void> => {
    await createSubscriptions(knex);
    await createFanOut(knex);
    await createDeliveries(knex);
  },
};
