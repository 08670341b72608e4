import type { Knex } from 'knex';

/**
 * The creative sessions read model. `item` is what a list shows of a session, so that a page does not read the
 * variants of each. The index is the order of the list: a page begins where the one before ended.
 */
export const creativeSessions = {
  name: '0028-creative-sessions',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table creative_sessions (
        customer_id  bigint not null,
        id           uuid not null,
        revision     bigint not null,
        campaign_id  uuid not null,
        updated_at   timestamptz not null,
        item         text not null,
        body         text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      alter table creative_sessions alter column body set storage external;
      create index creative_sessions_by_change
        on creative_sessions (customer_id, campaign_id, updated_at desc, id);
      alter table creative_sessions enable row level security;
      create policy tenant on creative_sessions using (customer_id = current_customer_id());
    `);
  },
};
