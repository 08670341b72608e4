import type { Knex } from 'knex';

/**
 * - `catalog_feeds`: feeds of catalogs, and when each is to be read. Made of the log as far as it says what is to be read;
 *   made anew, it has all of them read at once, which changes nothing that has not changed.
 * - `syndication_records.left_there`: it is off, and the agent could not be told: whoever brings something under the same
 *   name begins anew.
 * - `stillThere` in `syndication_records.body`: what the agent has of a record whose last generation only brings it up to
 *   date. Bodies are texts of JSON, so the member is added to the text.
 * - Who was removed from audiences is known for some days, also of accounts that sync nothing any more.
 */
export const feedsAndWhatIsLeft = {
  name: '0030-feeds-and-what-is-left',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table catalog_feeds (
        customer_id    bigint not null,
        id             uuid not null,
        -- Of the event that last asked for it.
        revision       bigint not null,
        -- By the clock of the database, like all times in here; infinity: when it is asked for again.
        due_at         timestamptz not null default now(),
        -- Its time has come, and nobody has it yet.
        is_due         boolean not null default false,
        -- Somebody has it, until then at the latest.
        running_until  timestamptz,
        read_at        timestamptz,
        -- Readings since the last one that came to something.
        attempts       integer not null default 0,
        primary key (customer_id, id)
      ) with (fillfactor = 70);
      create index catalog_feeds_waiting on catalog_feeds (due_at) where not is_due;
      create index catalog_feeds_due on catalog_feeds (customer_id, due_at) where is_due;
      create index catalog_feeds_running on catalog_feeds (customer_id) where running_until is not null;

      alter table catalog_feeds enable row level security;
      create policy tenant on catalog_feeds using (customer_id = current_customer_id());

      alter table syndication_records add column left_there boolean not null default false;
      update syndication_records set left_there = true
        where status = 'DISABLED' and body::json -> 'responseData' -> 'withdrawal' ->> 'removed' = 'false';
      update syndication_records
        set body = left(body, -1) || ',"stillThere":' || (body::json -> 'delivered')::text || '}'
        where status in ('PENDING', 'SYNCING', 'FAILED') and body::json ->> 'delivered' is not null
          and body::json -> 'stillThere' is null;
      create index syndication_records_left
        on syndication_records (customer_id, agent_id, account, resource_type, resource_id) where left_there;
      create index audience_removals_by_time on audience_removals (removed_at);
    `);
  },
};
