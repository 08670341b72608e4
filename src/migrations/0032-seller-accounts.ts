import type { Knex } from 'knex';

/**
 * Accounts of sellers. `creative_submissions` says whose the creatives are that were submitted to a seller: all that a
 * seller may know of other accounts before it is let in, so that is what the policy shows, to the seller alone. It is
 * filled by a read model of its own, from the start of the log, as soon as a process runs that knows of it.
 *
 * No row is looked at while `accounts`, `users` and `api_keys`, which every request reads, are locked: what was
 * allowed before is still allowed.
 */
export const sellerAccounts = {
  name: '0032-seller-accounts',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table creative_submissions (
        seller_id    integer not null,
        creative_id  uuid not null,
        customer_id  bigint not null,
        primary key (seller_id, creative_id, customer_id)
      );
      alter table accounts add seller_id integer;
      alter table users drop constraint users_role_check,
        add check (role in ('admin', 'member', 'seller')) not valid;
      alter table api_keys drop constraint api_keys_scopes_check,
        add check (scopes <@ array['exchange:read', 'exchange:write', 'exchange:admin', 'exchange:review']) not valid;

      alter table creative_submissions enable row level security;
      create policy seller on creative_submissions for select
        using (seller_id = (select a.seller_id from accounts a where a.customer_id = current_customer_id()));
    `);
  },
};
