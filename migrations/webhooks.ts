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
    table.integer('generation').notNullable().defaultTo(0);
    table.integer('ended_generation').notNullable().defaultTo(0);
    code(table, 'created_position').notNullable().defaultTo('-');
    table.text('body').notNullable().defaultTo('{}');
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
    table.index(['status', 'changed_at'], 'webhook_endpoints_idle', {
      predicate: knex.whereRaw("status in ('paused', 'deleted')"),
    });
  });
  await createTenantTable(knex, 'webhook_disabled_accounts', (table) => table.primary(['customer_id']));
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
      table.integer('generation').notNullable().defaultTo(0);
      table.timestamp('created_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.timestamp('due_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.integer('attempts').notNullable().defaultTo(0);
      table.integer('round_began_at').notNullable().defaultTo(0);
      table.timestamp('first_attempt_at');
      table.timestamp('last_attempt_at');
      table.integer('last_status');
      code(table, 'last_error');
      table.primary(['customer_id', 'id']);
      table.index(['customer_id', 'subscription_id', 'created_at', 'id'], 'webhook_deliveries_by_age');
      table.index(
        ['customer_id', 'subscription_id', 'state', 'created_at', 'id'],
        'webhook_deliveries_by_state',
      );
      table.index(['customer_id', 'subscription_id', 'due_at'], 'webhook_deliveries_due', {
        predicate: knex.whereRaw(`state = 'due'`),
      });
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
      table.specificType('notices', 'smallint').notNullable().defaultTo(0);
      table.timestamp('slow_until');
      table.timestamp('last_success_at');
      table.timestamp('last_failure_at');
      table.uuid('run_id');
      table.timestamp('run_until');
      table.primary(['customer_id', 'subscription_id']);
    },
    { fillfactor: 50 },
  );
};

/**
 * - `webhook_subscriptions`: a read model.
 * - `webhook_endpoints`, `webhook_disabled_accounts`, `webhook_streams`, `webhook_messages`: written by the fan-out of
 * the log, in one transaction with its checkpoint and the rows of `webhook_deliveries`. Never rebuilt: that would send
 * again (docs/design/webhooks.md).
 * - `webhook_endpoints.status`: `active`, `paused`, `gone`, `failed`, `deleted`, or `suspended` while the account is
 * disabled; only an `active` one gets requests. `generation`: raised by each event that ends or restarts
 * deliveries. An effect of such an event reaches only rows of earlier generations, so it happens once, however late.
 * `ended_generation`: of the last one that ended deliveries.
 * - `webhook_deliveries`: one a (subscription, message), or a further one for a replay. `state`: `due`,
 * `delivered`, `failed`, `canceled`. `due_at`: of the next attempt.
 * `round_began_at`: attempts before the last redelivery. `first_attempt_at`: of that round. Error: a class, e.g. `timeout`.
 * - `webhook_attempts`, `webhook_health`: written by workers. `failures`: since the last success. `failing_since`: the
 * first of them, if deliveries wait since then. `notices`: mails about it. `slow_until`: set from a failure that stops
 * all deliveries of the endpoint until the next success; the next attempt is then. `run_id`, `run_until`: the run that sends, one at a time.
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
