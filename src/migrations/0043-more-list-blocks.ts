import type { Knex } from 'knex';

/**
 * Campaigns, creatives and assets in counted blocks, too (docs/records/0010-list-blocks.md). An account's and an advertiser's
 * campaigns of all phases are in the order of the list by an index of their own: archived ones are listed as well.
 *
 * `blocks_at` says from here on which blocks were written, too (`shared/read-your-writes/kept-blocks.ts`): a program of
 * before this one writes rows without the new ones, and may run beside those that know of them. What is there says it for
 * none, so the first projector that knows of them makes all of them.
 */
export const moreListBlocks = {
  name: '0043-more-list-blocks',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create index campaigns_by_place on campaigns (customer_id, created_at, id);
      create index campaigns_by_advertiser_place on campaigns (customer_id, advertiser_id, created_at, id);
    `);
    for (const table of [
      'campaign_blocks',
      'advertiser_campaign_blocks',
      'creative_blocks',
      'asset_blocks',
    ]) {
      await knex.raw(`
        create table ${table} (
          customer_id    bigint not null,
          -- 0: the list of the whole account.
          advertiser_id  integer not null,
          first_at       timestamptz not null,
          first_id       uuid not null,
          kind           text collate "C" not null,
          count          bigint not null,
          primary key (customer_id, advertiser_id, first_at, first_id, kind)
        ) with (fillfactor = 50);
        create index ${table}_by_kind on ${table} (customer_id, advertiser_id, kind, first_at, first_id);
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
