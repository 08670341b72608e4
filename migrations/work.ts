import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

const createSyndicationWork = async (knex: Knex): Promise<void> => {
  await knex.schema.createTable('syndication_work', (table) => {
    table.bigInteger('customer_id').notNullable();
    table.uuid('record_id').notNullable();
    table.integer('generation').notNullable();
    table.boolean('archived').notNullable().defaultTo(false);
    table.integer('changes').notNullable().defaultTo(0);
    table.boolean('has_turn').notNullable().defaultTo(false);
    table.boolean('has_job').notNullable().defaultTo(false);
    table.timestamp('due_at').notNullable().defaultTo(knex.raw('now()'));
    table.integer('attempts').notNullable().defaultTo(0);
    table.integer('lost').notNullable().defaultTo(0);
    table.text('last_error');
    table.primary(['customer_id', 'record_id']);
    table.index(['customer_id', 'due_at'], 'syndication_work_turns', {
      predicate: knex.whereRaw('has_turn'),
    });
    table.index(['customer_id', 'due_at'], 'syndication_work_due', {
      predicate: knex.whereRaw('not has_turn'),
    });
  });
  await knex.raw('alter table syndication_work set (fillfactor = 50)');
  await createTenantTable(
    knex,
    'submission_work',
    (table) => {
      code(table, 'kind').notNullable();
      table.uuid('id').notNullable();
      code(table, 'position').notNullable();
      table.timestamp('due_at').notNullable().defaultTo(knex.raw('now()'));
      code(table, 'since');
      table.primary(['customer_id', 'kind', 'id']);
      table.index(['kind', 'due_at'], 'submission_work_by_kind');
      table.index(['customer_id', 'due_at'], 'submission_work_by_account', {
        predicate: knex.whereRaw(`kind = 'creative'`),
      });
    },
    { fillfactor: 70 },
  );
};

const createOtherWork = async (knex: Knex): Promise<void> => {
  await createTenantTable(
    knex,
    'catalog_feeds',
    (table) => {
      table.uuid('id').notNullable();
      table.bigInteger('revision').notNullable();
      table.timestamp('due_at').notNullable().defaultTo(knex.raw('now()'));
      table.boolean('is_due').notNullable().defaultTo(false);
      table.timestamp('running_until');
      table.timestamp('read_at');
      table.integer('attempts').notNullable().defaultTo(0);
      table.primary(['customer_id', 'id']);
      table.index(['due_at'], 'catalog_feeds_waiting', { predicate: knex.whereRaw('not is_due') });
      table.index(['customer_id', 'due_at'], 'catalog_feeds_due', { predicate: knex.whereRaw('is_due') });
      table.index(['customer_id'], 'catalog_feeds_running', {
        predicate: knex.whereNotNull('running_until'),
      });
    },
    { fillfactor: 70 },
  );
  await createTenantTable(
    knex,
    'agent_checks',
    (table) => {
      table.uuid('id').notNullable();
      table.bigInteger('revision').notNullable();
      table.timestamp('due_at').notNullable();
      table.primary(['customer_id', 'id']);
      table.index(['due_at'], 'agent_checks_due');
    },
    { fillfactor: 85 },
  );
};

/**
 * All times are the database's.
 *
 * - `syndication_work`: `archived`: the advertiser was archived during this generation. `changes`: changes of the
 *   resource since a worker last looked. `has_turn`: the record holds a slot of its account. `has_job`: a run of its
 *   job may not be over. `due_at`: when it is offered (again). `attempts`: failed calls of the agent. `lost`: jobs
 *   that ended without an answer. `last_error`: why it waits.
 * - `submission_work`: creatives, and campaigns with all their creatives, to submit to sellers. `position`: the event
 *   that added it. `since`: the first event that no worker has processed yet.
 * - `catalog_feeds`: `revision`: the event that last requested a read. `due_at`: infinity until the next request.
 *   `is_due`: due, and no worker has claimed it. `running_until`: the end of a worker's claim. `attempts`: reads
 *   since the last success.
 * - `agent_checks`: agents that have not answered since their registration, and their next checks. `revision`: the
 *   event that the row is derived from.
 */
export const work = {
  name: '0.2-work',
  up: async (knex: Knex): Promise<void> => {
    await createSyndicationWork(knex);
    await createOtherWork(knex);
  },
};
