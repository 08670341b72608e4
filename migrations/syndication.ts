import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

const createRecords = async (knex: Knex): Promise<void> => {
  await createTenantTable(
    knex,
    'syndication_records',
    (table) => {
      table.uuid('id').notNullable();
      table.integer('advertiser_id').notNullable();
      code(table, 'resource_type').notNullable();
      code(table, 'resource_id').notNullable();
      table.uuid('agent_id').notNullable();
      code(table, 'account').notNullable();
      code(table, 'status').notNullable();
      table.boolean('waiting').notNullable();
      table.integer('generation').notNullable();
      table.bigInteger('revision').notNullable();
      table.timestamp('updated_at').notNullable();
      table.text('body').notNullable();
      table.uuid('resource_uuid');
      table.boolean('left_there').notNullable().defaultTo(false);
      table.primary(['customer_id', 'id']);
      const owner = ['customer_id', 'advertiser_id'];
      const order = ['updated_at', 'id'];
      table.index([...owner, 'resource_id', ...order], 'syndication_records_by_resource');
      table.index(
        [...owner, 'agent_id', 'resource_type', 'status', ...order],
        'syndication_records_by_group',
      );
      const atAgent = ['customer_id', 'agent_id', 'account', 'resource_type', 'resource_id'];
      table.index(atAgent, 'syndication_records_at_agent', {
        predicate: knex.whereRaw(`status <> 'DISABLED' or waiting`),
      });
      table.index(atAgent, 'syndication_records_left', { predicate: knex.whereRaw('left_there') });
      table.index(['customer_id', 'resource_uuid'], 'syndication_records_of_resource', {
        predicate: knex.whereRaw(`status <> 'DISABLED'`),
      });
    },
    { fillfactor: 85, external: 'body' },
  );
  await knex.raw(`
    create index syndication_records_by_age on syndication_records (customer_id, advertiser_id, updated_at, id)
      include (agent_id, resource_type, status);
  `);
};

const createCountsAndDeliveries = async (knex: Knex): Promise<void> => {
  await createTenantTable(
    knex,
    'syndication_counts',
    (table) => {
      table.integer('advertiser_id').notNullable();
      table.uuid('agent_id').notNullable();
      code(table, 'resource_type').notNullable();
      code(table, 'status').notNullable();
      table.bigInteger('count').notNullable();
      table.primary(['customer_id', 'advertiser_id', 'agent_id', 'resource_type', 'status']);
    },
    { fillfactor: 50 },
  );
  await createTenantTable(
    knex,
    'syndication_deliveries',
    (table) => {
      table.uuid('record_id').notNullable();
      table.integer('generation').notNullable();
      table.integer('part').notNullable().defaultTo(0);
      // Position (revision, id) of the last member in earlier parts; with the current part: `next_*`.
      table.bigInteger('after_revision').notNullable();
      code(table, 'after_id').notNullable().defaultTo('');
      table.bigInteger('next_revision');
      code(table, 'next_id');
      table.text('body');
      table.boolean('is_last').notNullable().defaultTo(false);
      table.timestamp('touched_at').notNullable().defaultTo(knex.raw('now()'));
      table.primary(['customer_id', 'record_id']);
      table.index(['touched_at'], 'syndication_deliveries_by_age');
    },
    { fillfactor: 50 },
  );
};

/**
 * - `syndication_records`: `..._by_group` finds the first records group by group (`syndication_counts` lists
 * the groups); `..._by_age` finds later pages. `resource_uuid` names the stream. `left_there`: off, but the
 * agent may still have the resource; sending one under the same name restarts the record, so workers check
 * for it.
 * - `syndication_deliveries`: the progress of an audience's delivery, and the exact request of the current
 * part. A lost row costs nothing: the part is built again and sent under another key.
 */
export const syndication = {
  name: '0.2-syndication',
  up: async (knex: Knex): Promise<void> => {
    await createRecords(knex);
    await createCountsAndDeliveries(knex);
  },
};
