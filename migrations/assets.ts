import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/** `asset_objects` is not a read model: objects that may have no asset, listed before they are written. */
export const assets = {
  name: '0.2-assets',
  up: async (knex: Knex): Promise<void> => {
    const ready = { predicate: knex.whereRaw(`status = 'READY'`) };
    await createTenantTable(
      knex,
      'assets',
      (table) => {
        table.uuid('id').notNullable();
        table.integer('advertiser_id').notNullable();
        code(table, 'status').notNullable();
        code(table, 'media_kind').notNullable();
        code(table, 'source').notNullable();
        table.text('name').notNullable();
        table.timestamp('expires_at').notNullable();
        table.bigInteger('revision').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
        const library = ['customer_id', 'advertiser_id'];
        const order = ['created_at', 'id'];
        table.index([...library, 'media_kind', ...order], 'assets_by_kind', ready);
        table.index([...library, 'source', ...order], 'assets_by_source', ready);
        table.index(['expires_at', 'customer_id', 'id'], 'assets_reserved', {
          predicate: knex.whereRaw(`status = 'RESERVED'`),
        });
        table.index(['expires_at'], 'assets_gone', {
          predicate: knex.whereRaw(`status in ('EXPIRED', 'REMOVED')`),
        });
      },
      { fillfactor: 85, external: 'body' },
    );
    await knex.raw(`
      create index assets_by_age on assets (customer_id, advertiser_id, created_at, id)
        include (media_kind, source) where status = 'READY';
    `);
    await createTenantTable(
      knex,
      'asset_counts',
      (table) => {
        table.integer('advertiser_id').notNullable();
        code(table, 'media_kind').notNullable();
        code(table, 'source').notNullable();
        table.bigInteger('count').notNullable();
        table.primary(['customer_id', 'advertiser_id', 'media_kind', 'source']);
      },
      { fillfactor: 50 },
    );
    await createTenantTable(knex, 'asset_objects', (table) => {
      code(table, 'storage_key').primary();
      table.uuid('asset_id').notNullable();
      table.timestamp('begun_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.index(['begun_at', 'storage_key'], 'asset_objects_by_age');
    });
  },
};
