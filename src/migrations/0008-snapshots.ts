import type { Knex } from 'knex';

/** Folded states of long streams: derived from the log, may be emptied at any time. */
export const snapshots = {
  name: '0008-snapshots',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table snapshots (
        stream        text collate "C" primary key,
        fold_version  integer not null,
        revision      bigint not null,
        position      text collate "C" not null,
        state         text not null,
        saved_at      timestamptz not null default clock_timestamp()
      );
    `);
  },
};
