import type { Knex } from 'knex';

/**
 * The event sources read model. `body` is the folded source as JSON text; the other columns are what it is found
 * and ordered by: by the buyer's key in the whole account, and as an advertiser's list.
 */
export const eventSources = {
  name: '0010-event-sources',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table event_sources (
        customer_id    bigint not null,
        id             uuid not null,
        advertiser_id  integer not null,
        key            text collate "C" not null,
        status         text collate "C" not null,
        revision       bigint not null,
        created_at     timestamptz not null,
        body           text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      create index event_sources_by_key on event_sources (customer_id, key);
      create index event_sources_by_advertiser
        on event_sources (customer_id, advertiser_id, status, created_at, id);
      alter table event_sources enable row level security;
      create policy tenant on event_sources using (customer_id = current_customer_id());
    `);
  },
};
