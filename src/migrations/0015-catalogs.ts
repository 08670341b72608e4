import type { Knex } from 'knex';

/** The catalogs read model, in the form of the event sources' one. The items are in the event log only. */
export const catalogs = {
  name: '0015-catalogs',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table catalogs (
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
      create index catalogs_by_advertiser on catalogs (customer_id, advertiser_id, status, created_at, id);
      alter table catalogs enable row level security;
      create policy tenant on catalogs using (customer_id = current_customer_id());
    `);
  },
};
