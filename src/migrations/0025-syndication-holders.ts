import type { Knex } from 'knex';

/**
 * Who has something of one id at an account of an agent is asked before anything is brought there: without the id in
 * the index each such question would read all that the account has there.
 */
export const syndicationHolders = {
  name: '0025-syndication-holders',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      drop index syndication_records_at_agent;
      create index syndication_records_at_agent
        on syndication_records (customer_id, agent_id, account, resource_type, resource_id)
        where status <> 'DISABLED' or waiting;
    `);
  },
};
