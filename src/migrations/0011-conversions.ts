import type { Knex } from 'knex';

/**
 * The read models of conversion events (docs/conversions.md).
 *
 * - `conversion_segments`: the fingerprints of some events in a row of a source's stream, 16 bytes an item and a
 *   command, uncompressed and without an index over them: a process reads them all when it first meets the source.
 *   No truth of its own.
 * - `conversion_commands`: where in its source's stream a command has left something, for as long as it may be
 *   repeated.
 * - `conversion_hours`: what is counted. `currency` is empty where an item has none.
 * - `conversion_health`: what was last observed of a source. Its revision says which events all three hold.
 */
const readModels = `
create table conversion_segments (
  customer_id     bigint not null,
  source_id       uuid not null,
  first_revision  bigint not null,
  last_revision   bigint not null,
  recorded_at     timestamptz not null,
  fingerprints    bytea not null,
  commands        bytea not null,
  primary key (customer_id, source_id, last_revision)
);
alter table conversion_segments
  alter column fingerprints set storage external, alter column commands set storage external;
create index conversion_segments_by_age on conversion_segments (recorded_at);

create table conversion_commands (
  customer_id  bigint not null,
  source_id    uuid not null,
  command_id   uuid not null,
  revision     bigint not null,
  recorded_at  timestamptz not null,
  primary key (customer_id, source_id, command_id, revision)
);
create index conversion_commands_by_age on conversion_commands (recorded_at);

create table conversion_hours (
  customer_id    bigint not null,
  source_id      uuid not null,
  hour           timestamptz not null,
  event_type     text collate "C" not null,
  currency       text collate "C" not null,
  advertiser_id  integer not null,
  event_count    bigint not null,
  value_sum      numeric not null,
  primary key (customer_id, source_id, hour, event_type, currency)
) with (fillfactor = 70);
create index conversion_hours_by_advertiser on conversion_hours (customer_id, advertiser_id, hour);
create index conversion_hours_by_hour on conversion_hours (hour);

create table conversion_health (
  customer_id             bigint not null,
  source_id               uuid not null,
  advertiser_id           integer not null,
  revision                bigint not null,
  status                  text collate "C" not null,
  last_event_at           timestamptz,
  last_event_received_at  timestamptz,
  last_event_type         text collate "C",
  last_error              text,
  last_error_at           timestamptz,
  primary key (customer_id, source_id)
) with (fillfactor = 50);
`;

/** Calls that were shown and not yet carried out (decisions.md E14, confirm): what was shown, and who used it. */
const confirmations = `
create table conversion_confirmations (
  customer_id  bigint not null,
  uid          uuid not null,
  fingerprint  bytea not null,
  created_at   timestamptz not null default clock_timestamp(),
  used_by      uuid,
  primary key (customer_id, uid)
);
create index conversion_confirmations_by_age on conversion_confirmations (created_at);
`;

const TENANT_TABLES = [
  'conversion_segments',
  'conversion_commands',
  'conversion_hours',
  'conversion_health',
  'conversion_confirmations',
] as const;

/**
 * Where an account's conversion events end, apart from everything else that it writes: what reads them waits for
 * them, and nothing else does, however fast they come. The functions of 0021 mark the one or the other.
 */
const marks = `
create table conversion_positions (
  customer_id bigint primary key,
  position text collate "C" not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.05);
`;

export const conversions = {
  name: '0011-conversions',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(readModels);
    await knex.raw(confirmations);
    for (const table of TENANT_TABLES) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
    await knex.raw(marks);
  },
};
