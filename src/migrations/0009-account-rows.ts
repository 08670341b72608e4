import type { Knex } from 'knex';

/**
 * The rows that credentials are checked against follow the account's stream. `access_revision` is the revision of
 * the stream that `disabled_at` is taken from, -1 before the account's first event; `announced` says that the key's
 * event is in the stream. Neither an account nor a key is live before.
 *
 * What is there already counts as announced. Where the events are in EventStoreDB the revisions of accounts that
 * were ever disabled are found out by following the log from its start (`projections/credentials.ts`).
 */
export const accountRows = {
  name: '0009-account-rows',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      alter table accounts add access_revision bigint not null default -1;
      update accounts set access_revision = 0;
      update accounts a set access_revision = e.revision
        from (select stream, max(revision) as revision from events
              where type in ('AccountDisabled', 'AccountEnabled') group by stream) e
        where e.stream = 'account-' || a.customer_id;

      alter table api_keys add announced boolean not null default true, add sealed_until timestamptz;
      alter table api_keys alter announced set default false;
      update api_keys set sealed_until = created_at + interval '25 hours' where sealed_secret is not null;
      drop index api_keys_sealed;
      create index api_keys_sealed on api_keys (sealed_until) where sealed_secret is not null;
      create index api_keys_unannounced on api_keys (created_at) where not announced;
      create index api_keys_ended on api_keys (least(revoked_at, expires_at))
        where revoked_at is not null or expires_at is not null;
    `);
  },
};
