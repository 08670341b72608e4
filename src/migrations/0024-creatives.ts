import type { Knex } from 'knex';

/**
 * The creatives read model: the creatives, which campaigns they are in, which assets live ones use, and how many of
 * each kind an advertiser's library has. Counts are kept, not counted.
 */
export const creatives = {
  name: '0024-creatives',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table creatives (
        customer_id    bigint not null,
        id             uuid not null,
        revision       bigint not null,
        advertiser_id  integer not null,
        archived       boolean not null,
        role           text collate "C" not null,
        promoted       boolean not null,
        source         text collate "C" not null,
        format_kind    text collate "C" not null,
        name           text not null,
        created_at     timestamptz not null,
        body           text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      alter table creatives alter column body set storage external;
      create index creatives_by_age on creatives (customer_id, advertiser_id, created_at, id)
        where not archived;
      create index creatives_by_role on creatives (customer_id, advertiser_id, role, created_at, id)
        where not archived;
      create index creatives_by_promoted on creatives (customer_id, advertiser_id, promoted, created_at, id)
        where not archived;
      create index creatives_by_source on creatives (customer_id, advertiser_id, source, created_at, id)
        where not archived;
      create index creatives_by_format on creatives (customer_id, advertiser_id, format_kind, created_at, id)
        where not archived;

      create table creative_campaigns (
        customer_id  bigint not null,
        creative_id  uuid not null,
        campaign_id  uuid not null,
        archived     boolean not null,
        created_at   timestamptz not null,
        primary key (customer_id, creative_id, campaign_id)
      ) with (fillfactor = 85);
      create index creative_campaigns_by_campaign
        on creative_campaigns (customer_id, campaign_id, created_at, creative_id) where not archived;

      create table creative_assets (
        customer_id  bigint not null,
        creative_id  uuid not null,
        asset_id     text collate "C" not null,
        primary key (customer_id, creative_id, asset_id)
      );
      create index creative_assets_by_asset on creative_assets (customer_id, asset_id);

      create table creative_counts (
        customer_id    bigint not null,
        advertiser_id  integer not null,
        role           text collate "C" not null,
        promoted       text collate "C" not null,
        source         text collate "C" not null,
        format_kind    text collate "C" not null,
        count          bigint not null,
        primary key (customer_id, advertiser_id, role, promoted, source, format_kind)
      ) with (fillfactor = 50);
    `);
    for (const table of ['creatives', 'creative_campaigns', 'creative_assets', 'creative_counts']) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
