import type { Knex } from 'knex';

/**
 * The engine connections read model: one row for each account and engine. And secrets have owners of more than one kind.
 */
export const engines = {
  name: '0026-engines',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table engine_connections (
        customer_id  bigint not null,
        id           uuid not null,
        revision     bigint not null,
        status       text collate "C" not null,
        secret_id    uuid not null,
        body         text not null,
        primary key (customer_id, id)
      ) with (fillfactor = 85);
      alter table engine_connections enable row level security;
      create policy tenant on engine_connections using (customer_id = current_customer_id());

      -- agent_id stays for processes of the version before, which write it, and sweep away what it names and no agent
      -- has: of a secret that is not an agent's they must not see an owner.
      alter table secrets
        add column owner_kind text collate "C",
        add column owner_id uuid;
      update secrets set owner_kind = 'agent', owner_id = agent_id where agent_id is not null;
    `);
  },
};
