import type { Knex } from 'knex';

/**
 * `sellers` contains no account's data: every account may read it. `creative_submissions`: a seller may read
 * its own rows and learns nothing else about other accounts before it is granted access.
 */
export const sellers = {
  name: '0.2-sellers',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('sellers', (table) => {
      table.integer('seller_id').primary();
      table.bigInteger('revision').notNullable();
      table.text('body').notNullable();
    });
    await knex.schema.createTable('creative_submissions', (table) => {
      table.integer('seller_id').notNullable();
      table.uuid('creative_id').notNullable();
      table.bigInteger('customer_id').notNullable();
      table.primary(['seller_id', 'creative_id', 'customer_id']);
    });
    await knex.raw(`
      alter table sellers enable row level security;
      create policy all_accounts on sellers for select using (true);
      alter table creative_submissions enable row level security;
      create policy seller on creative_submissions for select
        using (seller_id = (select a.seller_id from accounts a where a.customer_id = current_customer_id()));
    `);
  },
};
