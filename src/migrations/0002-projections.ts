import type { Knex } from 'knex';

/**
 * How far each read model is, and which streams it had to leave out.
 *
 * - `epoch` is raised whenever a read model's rows change other than by a new event (a parked stream is
 *   retried, a rebuild): rows are a function of (position, epoch), so whatever is cached by both stays sound.
 * - A checkpoint is one row updated many times a second: most of its page is kept free, so that an update
 *   stays in the page and out of the index.
 */
export const projections = {
  name: '0002-projections',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table projection_checkpoints (
        name        text collate "C" primary key,
        position    text collate "C" not null,
        epoch       integer not null default 0,
        updated_at  timestamptz not null default clock_timestamp()
      ) with (fillfactor = 10);

      create table parked_streams (
        projection   text collate "C" not null,
        stream       text collate "C" not null,
        customer_id  bigint not null,
        position     text collate "C" not null,
        revision     bigint not null,
        event_type   text not null,
        error        text not null,
        attempts     integer not null,
        parked_at    timestamptz not null default clock_timestamp(),
        primary key (projection, stream)
      );
    `);
  },
};
