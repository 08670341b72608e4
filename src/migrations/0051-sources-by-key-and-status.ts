import type { Knex } from 'knex';

/**
 * Event sources by their key, active ones before others (`find-event-sources.ts`): every call of conversions may ask, and
 * a key like `web` is that of as many sources as the account has advertisers. The key alone would have each of them sorted.
 */
export const sourcesByKeyAndStatus = {
  name: '0051-sources-by-key-and-status',
  isStepwise: true,
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(
      'create index if not exists event_sources_by_key_and_status on event_sources (customer_id, key, status)',
    );
    await knex.raw('drop index if exists event_sources_by_key');
  },
};
