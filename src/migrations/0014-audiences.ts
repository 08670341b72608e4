import type { Knex } from 'knex';

/**
 * The audiences read model, in the form of the event sources' one, with its members.
 *
 * - `audience_members`: for delivery. Identifiers are hashes; bytea halves them.
 * - `audience_batches`: members that were stored and that no audience refers to yet. A batch lives from its first
 *   part to the event that refers to it; one that nothing ever refers to goes with a later one of the account.
 */
export const audiences = {
  name: '0014-audiences',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table audiences (
        customer_id    bigint not null,
        id             uuid not null,
        advertiser_id  integer not null,
        key            text collate "C" not null,
        status         text collate "C" not null,
        revision       bigint not null,
        created_at     timestamptz not null,
        body           text not null,
        members        bigint not null default 0,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      create index audiences_by_advertiser on audiences (customer_id, advertiser_id, status, created_at, id);

      create table audience_members (
        customer_id   bigint not null,
        audience_id   uuid not null,
        external_id   text collate "C" not null,
        hashed_email  bytea,
        hashed_phone  bytea,
        primary key (customer_id, audience_id, external_id)
      );

      create table audience_batches (
        customer_id  bigint not null,
        batch_id     uuid not null,
        part         integer not null,
        stored_at    timestamptz not null,
        body         text not null,
        primary key (customer_id, batch_id, part)
      );
      create index audience_batches_by_age on audience_batches (customer_id, stored_at);
    `);
    for (const table of ['audiences', 'audience_members', 'audience_batches']) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
