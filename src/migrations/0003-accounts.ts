import type { Knex } from 'knex';

/**
 * Credentials are not a read model: they cannot be rebuilt from events, which never hold a secret or
 * its hash.
 */
export const accounts = {
  name: '0003-accounts',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create sequence customer_ids as integer;

      create table api_keys (
        key_id       text collate "C" primary key,
        customer_id  bigint not null,
        secret_hash  bytea not null,
        name         text not null,
        created_at   timestamptz not null default now(),
        revoked_at   timestamptz
      );
      create index api_keys_by_customer on api_keys (customer_id, created_at);
    `);
  },
};
