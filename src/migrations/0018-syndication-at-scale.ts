import type { Knex } from 'knex';

/**
 * Of one account only so many records have a turn at once, so that the queue never holds more of it, however much
 * waits. And one index finds the records of any filters: those of one agent, type and status, of which
 * `syndication_counts` says which there are.
 */
export const syndicationAtScale = {
  name: '0018-syndication-at-scale',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      drop index syndication_work_by_offer;
      alter table syndication_work
        drop column offered_at,
        -- It was offered, and nothing else of its account is in its place.
        add column has_turn boolean not null default false,
        -- Nobody has said yet that the run of its job is over.
        add column has_job boolean not null default false,
        -- From then on it is offered, or offered again. By the clock of the database, like all times in here.
        add column due_at timestamptz not null default now(),
        -- Calls of the agent that came to nothing.
        add column attempts integer not null default 0,
        -- Jobs that ended, or were gone, without a word.
        add column lost integer not null default 0;
      create index syndication_work_turns on syndication_work (customer_id, due_at) where has_turn;
      create index syndication_work_due on syndication_work (customer_id, due_at) where not has_turn;

      drop index syndication_records_by_status;
      drop index syndication_records_by_agent;
      create index syndication_records_by_group on syndication_records
        (customer_id, advertiser_id, agent_id, resource_type, status, updated_at, id);
    `);
  },
};
