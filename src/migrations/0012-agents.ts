import type { Knex } from 'knex';

/**
 * The agents read model, and the secrets that users entrust to the service: encrypted, found by their ids, and
 * nothing that a request may read.
 */
export const agents = {
  name: '0012-agents',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table adcp_agents (
        customer_id  bigint not null,
        id           uuid not null,
        status       text collate "C" not null,
        revision     bigint not null,
        created_at   timestamptz not null,
        body         text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      create index adcp_agents_by_age on adcp_agents (customer_id, status, created_at, id);
      alter table adcp_agents enable row level security;
      create policy tenant on adcp_agents using (customer_id = current_customer_id());

      create table secrets (
        customer_id  bigint not null,
        id           uuid not null,
        key_id       text collate "C" not null,
        sealed       bytea not null,
        created_at   timestamptz not null default now(),
        primary key (customer_id, id)
      );
    `);
  },
};
