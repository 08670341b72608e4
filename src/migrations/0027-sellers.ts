import type { Knex } from 'knex';

/**
 * The sellers read model. The directory is everybody's to read: it holds nothing of any account. `submission_work`
 * is what workers look at next: creatives one by one, and campaigns with all that is in them; `position` is that of
 * the event that put it there.
 */
export const sellers = {
  name: '0027-sellers',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table sellers (
        seller_id  integer primary key,
        revision   bigint not null,
        body       text not null
      );
      alter table sellers enable row level security;
      create policy everybody on sellers for select using (true);

      create table submission_work (
        customer_id  bigint not null,
        kind         text collate "C" not null,
        id           uuid not null,
        position     text collate "C" not null,
        due_at       timestamptz not null default now(),
        primary key (customer_id, kind, id)
      ) with (fillfactor = 70);
      create index submission_work_by_kind on submission_work (kind, due_at);
      create index submission_work_by_account on submission_work (customer_id, due_at) where kind = 'creative';
      alter table submission_work enable row level security;
      create policy tenant on submission_work using (customer_id = current_customer_id());
    `);
  },
};
