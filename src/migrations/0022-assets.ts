import type { Knex } from 'knex';

/**
 * The assets read model, with the counts of what is in the libraries; and the objects of the store of which it is not
 * settled whether an asset has them, which is no read model: it is written before the object is.
 */
export const assets = {
  name: '0022-assets',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table assets (
        customer_id    bigint not null,
        id             uuid not null,
        advertiser_id  integer not null,
        status         text collate "C" not null,
        media_kind     text collate "C" not null,
        source         text collate "C" not null,
        name           text not null,
        expires_at     timestamptz not null,
        revision       bigint not null,
        created_at     timestamptz not null,
        body           text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      alter table assets alter column body set storage external;
      create index assets_by_age on assets (customer_id, advertiser_id, created_at, id)
        where status = 'READY';
      create index assets_by_kind on assets (customer_id, advertiser_id, media_kind, created_at, id)
        where status = 'READY';
      create index assets_by_source on assets (customer_id, advertiser_id, source, created_at, id)
        where status = 'READY';
      create index assets_reserved on assets (expires_at) where status = 'RESERVED';
      alter table assets enable row level security;
      create policy tenant on assets using (customer_id = current_customer_id());

      create table asset_counts (
        customer_id    bigint not null,
        advertiser_id  integer not null,
        -- Media kind and source: image/uploaded.
        kind           text collate "C" not null,
        count          bigint not null,
        primary key (customer_id, advertiser_id, kind)
      ) with (fillfactor = 50);
      alter table asset_counts enable row level security;
      create policy tenant on asset_counts using (customer_id = current_customer_id());

      create table asset_objects (
        storage_key  text collate "C" primary key,
        customer_id  bigint not null,
        asset_id     uuid not null,
        begun_at     timestamptz not null default clock_timestamp()
      );
      create index asset_objects_by_age on asset_objects (begun_at);
      alter table asset_objects enable row level security;
      create policy tenant on asset_objects using (customer_id = current_customer_id());
    `);
  },
};
