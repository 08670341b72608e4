import type { Knex } from 'knex';

/**
 * Lists in counted blocks (docs/records/0010-list-blocks.md): how many rows of each kind there are from a place in a
 * list's order up to the next such place. Kind '' is all of them, and says where the blocks are.
 *
 * They are made of the rows, and written with them. A process of before this migration, which may run beside it for a
 * while, writes rows alone: so `blocks_at` says up to which position and epoch the blocks were written, too. As long as
 * that is not where the checkpoint is, no read uses them, and the first projector that knows them makes them anew.
 */
export const listBlocks = {
  name: '0039-list-blocks',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`alter table projection_checkpoints add blocks_at text collate "C" not null default ''`);
    for (const [table, id] of [
      ['advertiser_blocks', 'integer'],
      ['syndication_blocks', 'uuid'],
    ] as const) {
      await knex.raw(`
        create table ${table} (
          customer_id    bigint not null,
          -- 0: the list of the whole account.
          advertiser_id  integer not null,
          first_at       timestamptz not null,
          first_id       ${id} not null,
          kind           text collate "C" not null,
          count          bigint not null,
          primary key (customer_id, advertiser_id, first_at, first_id, kind)
        ) with (fillfactor = 50);
        create index ${table}_by_kind on ${table} (customer_id, advertiser_id, kind, first_at, first_id);
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
