import type { Knex } from 'knex';

/**
 * - `personal_keys`: which keys an account's personal data in the log are sealed with; the keys themselves are among the
 *   secrets. `version` goes up with every change of them. Of keys that were taken away for good the row stays, so that
 *   keys that are missing are told from those that were meant to go.
 * - `forgettings`: what an operator had forgotten, until everybody has been told, and for the record after that. Names
 *   nobody.
 *
 * Neither is made of the log.
 */
export const personalData = {
  name: '0035-personal-data',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table personal_keys (
        customer_id   bigint not null,
        id            uuid not null,
        version       bigint not null default 0,
        created_at    timestamptz not null default clock_timestamp(),
        forgotten_at  timestamptz,
        primary key (customer_id, id)
      );

      create table forgettings (
        customer_id  bigint not null,
        id           uuid not null,
        scope        text collate "C" not null,
        subjects     integer not null,
        places       bigint not null,
        -- Rows that went, by audience.
        members      jsonb not null,
        done_at      timestamptz not null default now(),
        told_at      timestamptz,
        primary key (customer_id, id)
      );
      create index forgettings_to_tell on forgettings (customer_id) where told_at is null;
    `);
    for (const table of ['personal_keys', 'forgettings']) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
