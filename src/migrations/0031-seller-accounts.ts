import type { Knex } from 'knex';

/**
 * Accounts of sellers. `creative_submissions` says whose the creatives are that were submitted to a seller: all that a
 * seller may know of other accounts before it is let in, so that is what the policy shows, to the seller alone. It
 * follows the read model of creatives, and begins with what that knows.
 */
export const sellerAccounts = {
  name: '0031-seller-accounts',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      alter table accounts add seller_id integer;
      alter table users drop constraint users_role_check,
        add check (role in ('admin', 'member', 'seller'));
      alter table api_keys drop constraint api_keys_scopes_check,
        add check (scopes <@ array['exchange:read', 'exchange:write', 'exchange:admin', 'exchange:review']);

      create table creative_submissions (
        seller_id    integer not null,
        creative_id  uuid not null,
        customer_id  bigint not null,
        primary key (seller_id, creative_id, customer_id)
      );
      insert into creative_submissions (seller_id, creative_id, customer_id)
        select (review ->> 'sellerId')::int, c.id, c.customer_id
        from creatives c, json_array_elements(coalesce(c.body::json -> 'reviews', '[]')) review
        on conflict do nothing;
      alter table creative_submissions enable row level security;
      create policy seller on creative_submissions for select
        using (seller_id = (select a.seller_id from accounts a where a.customer_id = current_customer_id()));
    `);
  },
};
