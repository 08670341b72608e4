import type { Knex } from 'knex';

/**
 * The advertisers read model. `body` is the API's answer as ready-made JSON text; the other columns are what
 * it is found, ordered and counted by. Counts are kept, not counted: a list's total must not cost more as
 * the account grows.
 */
export const advertisers = {
  name: '0004-advertisers',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create sequence advertiser_ids as integer;

      create table advertisers (
        customer_id  bigint not null,
        id           integer not null,
        revision     bigint not null,
        status       text collate "C" not null,
        sandbox      boolean not null,
        name         text not null,
        created_at   timestamptz not null,
        body         text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      alter table advertisers alter column body set storage external;
      create index advertisers_by_status on advertisers (customer_id, status, created_at, id);
      create index advertisers_by_age on advertisers (customer_id, created_at, id);

      create table advertiser_counts (
        customer_id  bigint not null,
        status       text collate "C" not null,
        sandbox      boolean not null,
        count        bigint not null,
        primary key (customer_id, status, sandbox)
      ) with (fillfactor = 50);
    `);
  },
};
