import type { Knex } from 'knex';

/**
 * One row for each idempotency key of an account: first the claim of whoever runs the command, then its
 * answer, kept for 24 h. All times are the database's.
 */
export const idempotencyKeys = {
  name: '0005-idempotency-keys',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table idempotency_keys (
        scope         text collate "C" not null,
        key           text collate "C" not null,
        fingerprint   bytea not null,
        reserved      text not null,
        lease_until   timestamptz not null,
        claimed_at    timestamptz not null default clock_timestamp(),
        completed_at  timestamptz,
        status        smallint,
        body          text,
        primary key (scope, key)
      ) with (fillfactor = 70);
      alter table idempotency_keys alter column body set storage external;
      create index idempotency_keys_by_age on idempotency_keys (claimed_at);
    `);
  },
};
