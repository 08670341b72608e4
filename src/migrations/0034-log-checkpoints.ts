import type { Knex } from 'knex';

/**
 * The hash chain over the log (docs/records/0009-log-chain.md, docs/operations.md): a follower writes down every so
 * many events what the chain has come to. Kept for as long as the log is: some 9 bytes an event.
 *
 * - `chain`: from 1; another one is begun when the log was moved to another store, where positions are others.
 * - `last`: of two checkpoints it is the same where the second one has no events of its own: it only signs the first.
 * - `leaves`: the first 8 bytes of the chain's value after each of its events, so that the first one that does not fit can
 *   be named.
 * - `log_keys`: the public keys that were ever signed with, for people: a proof needs them from somewhere else.
 */
export const logCheckpoints = {
  name: '0034-log-checkpoints',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table log_checkpoints (
        chain      integer not null,
        number     bigint not null,
        format     text not null,
        after      text collate "C" not null,
        last       text collate "C" not null,
        events     bigint not null,
        hash       bytea not null,
        leaves     bytea not null,
        key_id     text,
        signature  bytea,
        sealed_at  timestamptz not null,
        primary key (chain, number)
      );
      alter table log_checkpoints alter column leaves set storage external;
      create index log_checkpoints_by_position on log_checkpoints (chain, last, number);
      create index log_checkpoints_signed on log_checkpoints (chain, number) where signature is not null;

      create table log_keys (
        key_id      text collate "C" primary key,
        public_key  bytea not null,
        first_used  timestamptz not null default clock_timestamp()
      );
    `);
  },
};
