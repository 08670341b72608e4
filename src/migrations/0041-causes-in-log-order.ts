import type { Knex } from 'knex';

/** What a request has led to is shown in the order of the log, a page at a time: clocks of several nodes may disagree. */
export const causesInLogOrder = {
  name: '0041-causes-in-log-order',
  isStepwise: true,
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(
      'create index if not exists audit_entries_by_cause on audit_entries (customer_id, correlation_id, position)',
    );
    await knex.raw('drop index if exists audit_entries_by_correlation');
  },
};
