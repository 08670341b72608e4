import type { Knex } from 'knex';

/**
 * The projection looks back for the last entry of a stream, by revision. The audit log is searched by time: as a partial
 * index, this one is none that the planner could take for that search and sort the stream's whole history.
 */
export const lastEntryOfAStream = {
  name: '0046-last-entry-of-a-stream',
  isStepwise: true,
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(
      `create index if not exists audit_entries_last_of_stream on audit_entries (customer_id, stream, revision)
        where revision >= 0`,
    );
    await knex.raw('drop index if exists audit_entries_by_revision');
  },
};
