import type { Knex } from 'knex';

/**
 * The campaigns read model. Counts are kept, not counted: of each advertiser, and of the whole account under
 * `advertiser_id` 0. `ends_at` is the end of the flight of what is to be completed then.
 */
export const campaigns = {
  name: '0023-campaigns',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table campaigns (
        customer_id    bigint not null,
        id             uuid not null,
        revision       bigint not null,
        advertiser_id  integer not null,
        phase          text collate "C" not null,
        archived       boolean not null,
        ends_at        timestamptz not null,
        created_at     timestamptz not null,
        body           text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      alter table campaigns alter column body set storage external;
      create index campaigns_by_age on campaigns (customer_id, archived, created_at, id);
      create index campaigns_by_phase on campaigns (customer_id, phase, created_at, id);
      create index campaigns_by_advertiser on campaigns (customer_id, advertiser_id, archived, created_at, id);
      create index campaigns_by_advertiser_phase
        on campaigns (customer_id, advertiser_id, phase, created_at, id);
      create index campaigns_by_end on campaigns (ends_at) where phase in ('active', 'paused');

      create table campaign_counts (
        customer_id    bigint not null,
        advertiser_id  integer not null,
        phase          text collate "C" not null,
        count          bigint not null,
        primary key (customer_id, advertiser_id, phase)
      ) with (fillfactor = 50);
    `);
    for (const table of ['campaigns', 'campaign_counts']) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
