import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `seller_delivery_days`: what sellers report, a row for each media buy and day.
 * - `seller_references`: what sellers were given to name a campaign by. Workers look other accounts up by seller.
 */
export const reporting = {
  name: '0.2-reporting',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'seller_delivery_days',
      (table) => {
        table.date('day').notNullable();
        table.integer('seller_id').notNullable();
        code(table, 'media_buy_id').notNullable();
        table.bigInteger('revision').notNullable();
        table.integer('advertiser_id');
        table.uuid('campaign_id');
        code(table, 'currency').notNullable();
        for (const metric of ['impressions', 'spend', 'clicks', 'views', 'completed_views']) {
          table.specificType(metric, 'numeric');
        }
        table.timestamp('reported_at').notNullable();
        table.primary(['customer_id', 'day', 'seller_id', 'media_buy_id']);
        table.index(['day'], 'seller_delivery_days_by_day');
      },
      { fillfactor: 70 },
    );
    await createTenantTable(knex, 'seller_references', (table) => {
      table.integer('seller_id').notNullable();
      code(table, 'buyer_ref').notNullable();
      table.integer('advertiser_id').notNullable();
      table.uuid('campaign_id').notNullable();
      table.timestamp('asked_at').notNullable();
      code(table, 'brand_domain');
      code(table, 'operator');
      table.primary(['customer_id', 'seller_id', 'buyer_ref']);
      table.index(['seller_id', 'customer_id'], 'seller_references_by_seller');
    });
  },
};
