import type { Knex } from 'knex';

/** Tasks that are done: what was accepted is in the read model that it is about. Kept for 30 days. */
export const tasks = {
  name: '0016-tasks',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table tasks (
        customer_id  bigint not null,
        task_id      uuid not null,
        accepted_at  timestamptz not null,
        body         text not null,
        primary key (customer_id, task_id)
      );
      create index tasks_by_age on tasks (customer_id, accepted_at);
      alter table tasks enable row level security;
      create policy tenant on tasks using (customer_id = current_customer_id());
    `);
  },
};
