import type { Knex } from 'knex';

/**
 * What agents are told of changes, and of audiences in parts.
 *
 * - `audience_members.revision`: of the audience, when the member last changed; 0 for what was there before this.
 * - `audience_removals`: who is no member any more, until all agents have surely heard of it. AdCP wants the hashes of who
 *   is to be removed.
 * - `syndication_records.resource_uuid`: names the stream of the resource. A record that was there before this gets it with
 *   its next event.
 * - `syndication_work.changes`: how often the resource was changed, as far as no worker has looked after it.
 * - `syndication_deliveries`: how far the delivery of an audience has come, and the part that is under way, word for
 *   word. Nothing can be made of the log again that is in here, and nothing is lost with it: a part that is lost is made
 *   anew and sent under another key.
 */
export const deliveries = {
  name: '0017-deliveries',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      alter table audience_members add column revision bigint not null default 0;
      create index audience_members_by_change on audience_members (customer_id, audience_id, revision, external_id);

      create table audience_removals (
        customer_id   bigint not null,
        audience_id   uuid not null,
        external_id   text collate "C" not null,
        hashed_email  bytea,
        hashed_phone  bytea,
        revision      bigint not null,
        removed_at    timestamptz not null,
        primary key (customer_id, audience_id, external_id)
      );
      create index audience_removals_by_change
        on audience_removals (customer_id, audience_id, revision, external_id);
      create index audience_removals_by_age on audience_removals (customer_id, removed_at);

      alter table syndication_records add column resource_uuid uuid;
      create index syndication_records_of_resource on syndication_records (customer_id, resource_uuid)
        where status <> 'DISABLED';
      alter table syndication_work add column changes integer not null default 0;

      create table syndication_deliveries (
        customer_id     bigint not null,
        record_id       uuid not null,
        generation      integer not null,
        part            integer not null default 0,
        -- Who comes up to here, by revision and id, is in the parts before; with the one under way, up to next_.
        after_revision  bigint not null,
        after_id        text collate "C" not null default '',
        next_revision   bigint,
        next_id         text collate "C",
        -- The request of the part under way.
        body            text,
        is_last         boolean not null default false,
        touched_at      timestamptz not null default now(),
        primary key (customer_id, record_id)
      ) with (fillfactor = 50);
      create index syndication_deliveries_by_age on syndication_deliveries (touched_at);
    `);
    for (const table of ['audience_removals', 'syndication_deliveries']) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
