import type { Knex } from 'knex';

/**
 * - `audience_sizes`: how many members an audience had behind each of its events: lists of the past show it
 *   (`query/audiences/find-audience-sizes.ts`). What was there before has the last ones only, until the read model is made
 *   anew.
 * - `audit_causes`: requests that an event follows from beside the one that it has as its correlation.
 * - `submission_work.since`: the position of the first event that put it on the list, and that nobody has looked at yet;
 *   null of rows that a process of before this has written.
 */
export const pastOfListsAndCauses = {
  name: '0048-past-of-lists-and-causes',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`
      create table audience_sizes (
        customer_id  bigint not null,
        audience_id  uuid not null,
        revision     bigint not null,
        members      bigint not null,
        primary key (customer_id, audience_id, revision)
      );
      insert into audience_sizes (customer_id, audience_id, revision, members)
        select customer_id, id, revision, members from audiences;

      create table audit_causes (
        customer_id     bigint not null,
        correlation_id  text collate "C" not null,
        position        text collate "C" not null,
        occurred_at     timestamptz not null,
        causation_id    text collate "C" not null,
        primary key (customer_id, correlation_id, position)
      );
      comment on column audit_causes.occurred_at is 'Of the event, to find its entry by';
      comment on column audit_causes.causation_id is 'Command of the other request that led to the event';

      alter table submission_work add column since text collate "C";
    `);
    for (const table of ['audience_sizes', 'audit_causes']) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
