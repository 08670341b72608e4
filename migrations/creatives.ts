import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

const createCreatives = async (knex: Knex): Promise<void> => {
  const live = { predicate: knex.whereRaw('not archived') };
  await createTenantTable(
    knex,
    'creatives',
    (table) => {
      table.uuid('id').notNullable();
      table.bigInteger('revision').notNullable();
      table.integer('advertiser_id').notNullable();
      table.boolean('archived').notNullable();
      code(table, 'role').notNullable();
      table.boolean('promoted').notNullable();
      code(table, 'source').notNullable();
      code(table, 'format_kind').notNullable();
      table.text('name').notNullable();
      table.timestamp('created_at').notNullable();
      table.text('body').notNullable();
      table.primary(['customer_id', 'id']);
      const library = ['customer_id', 'advertiser_id'];
      const order = ['created_at', 'id'];
      table.index([...library, 'role', ...order], 'creatives_by_role', live);
      table.index([...library, 'promoted', ...order], 'creatives_by_promoted', live);
      table.index([...library, 'source', ...order], 'creatives_by_source', live);
      table.index([...library, 'format_kind', ...order], 'creatives_by_format', live);
    },
    { fillfactor: 85, external: 'body' },
  );
  // Includes the library's filter columns, so that this index alone answers several filters.
  await knex.raw(`
    create index creatives_by_age on creatives (customer_id, advertiser_id, created_at, id)
      include (role, promoted, source, format_kind) where not archived
  `);
};

const createUses = async (knex: Knex): Promise<void> => {
  const live = { predicate: knex.whereRaw('not archived') };
  await createTenantTable(
    knex,
    'creative_campaigns',
    (table) => {
      table.uuid('creative_id').notNullable();
      table.uuid('campaign_id').notNullable();
      table.boolean('archived').notNullable();
      table.timestamp('created_at').notNullable();
      table.primary(['customer_id', 'creative_id', 'campaign_id']);
      table.index(
        ['customer_id', 'campaign_id', 'created_at', 'creative_id'],
        'creative_campaigns_by_campaign',
        live,
      );
    },
    { fillfactor: 85 },
  );
  await createTenantTable(knex, 'creative_assets', (table) => {
    table.uuid('creative_id').notNullable();
    code(table, 'asset_id').notNullable();
    table.primary(['customer_id', 'creative_id', 'asset_id']);
    table.index(['customer_id', 'asset_id'], 'creative_assets_by_asset');
  });
  await createTenantTable(
    knex,
    'creative_counts',
    (table) => {
      table.integer('advertiser_id').notNullable();
      code(table, 'role').notNullable();
      table.boolean('promoted').notNullable();
      code(table, 'source').notNullable();
      code(table, 'format_kind').notNullable();
      table.bigInteger('count').notNullable();
      table.primary(['customer_id', 'advertiser_id', 'role', 'promoted', 'source', 'format_kind']);
    },
    { fillfactor: 50 },
  );
};

const createSessions = async (knex: Knex): Promise<void> => {
  await createTenantTable(
    knex,
    'creative_sessions',
    (table) => {
      table.uuid('id').notNullable();
      table.bigInteger('revision').notNullable();
      table.uuid('campaign_id').notNullable();
      table.timestamp('updated_at').notNullable();
      table.text('item').notNullable();
      table.text('body').notNullable();
      table.primary(['customer_id', 'id']);
    },
    { fillfactor: 85, external: 'body' },
  );
  await knex.raw(`
    create index creative_sessions_by_change on creative_sessions (customer_id, campaign_id, updated_at desc, id)
  `);
};

/** Each filter has an index in list order. `creative_sessions.item` has no variants, as in lists. */
export const creatives = {
  name: '0.2-creatives',
  up: async (knex: Knex): Promise<void> => {
    await createCreatives(knex);
    await createUses(knex);
    await createSessions(knex);
  },
};
