import type { Knex } from 'knex';

/** Whose a secret is, so that one that nobody has can be told: its agent was never registered, or is gone. */
export const secretOwners = {
  name: '0019-secret-owners',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      -- Null of what was kept before, and cannot be told any more: it stays.
      alter table secrets add column agent_id uuid;
      update secrets s set agent_id = a.id from adcp_agents a
        where a.customer_id = s.customer_id and (a.body::jsonb)->>'secretId' = s.id::text;
    `);
  },
};
