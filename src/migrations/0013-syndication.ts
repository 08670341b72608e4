import type { Knex } from 'knex';

/**
 * The syndication read model: the records, how many there are of each kind, and the records that wait for a
 * worker. Counts are kept, not counted: a page must not cost more as an advertiser's records grow.
 */
export const syndication = {
  name: '0013-syndication',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table syndication_records (
        customer_id    bigint not null,
        id             uuid not null,
        advertiser_id  integer not null,
        resource_type  text collate "C" not null,
        resource_id    text collate "C" not null,
        agent_id       uuid not null,
        account        text collate "C" not null,
        status         text collate "C" not null,
        waiting        boolean not null,
        generation     integer not null,
        revision       bigint not null,
        updated_at     timestamptz not null,
        body           text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      alter table syndication_records alter column body set storage external;
      create index syndication_records_by_age
        on syndication_records (customer_id, advertiser_id, updated_at, id);
      create index syndication_records_by_status
        on syndication_records (customer_id, advertiser_id, status, updated_at, id);
      create index syndication_records_by_resource
        on syndication_records (customer_id, advertiser_id, resource_id, updated_at, id);
      create index syndication_records_by_agent
        on syndication_records (customer_id, advertiser_id, agent_id, updated_at, id);
      create index syndication_records_at_agent
        on syndication_records (customer_id, agent_id, account, resource_type)
        where status <> 'DISABLED' or waiting;
      alter table syndication_records enable row level security;
      create policy tenant on syndication_records using (customer_id = current_customer_id());

      create table syndication_counts (
        customer_id    bigint not null,
        advertiser_id  integer not null,
        agent_id       uuid not null,
        resource_type  text collate "C" not null,
        status         text collate "C" not null,
        count          bigint not null,
        primary key (customer_id, advertiser_id, agent_id, resource_type, status)
      ) with (fillfactor = 50);
      alter table syndication_counts enable row level security;
      create policy tenant on syndication_counts using (customer_id = current_customer_id());

      create table syndication_work (
        customer_id  bigint not null,
        record_id    uuid not null,
        generation   integer not null,
        -- The advertiser was archived while this generation was on: whatever has become of it since.
        archived     boolean not null default false,
        offered_at   timestamptz not null default '-infinity',
        primary key (customer_id, record_id)
      ) with (fillfactor = 50);
      create index syndication_work_by_offer on syndication_work (customer_id, offered_at);
    `);
  },
};
