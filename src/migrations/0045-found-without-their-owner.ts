import type { Knex } from 'knex';

/**
 * - Audiences and catalogs by the buyer's own id of them, whoever has it: the audit log is asked for one without its
 *   advertiser (event sources have such an index).
 * - Where streams of things begin: the lists of the past (`query/history/list-as-of.ts`) find by them what was there by
 *   then, of an account or of an advertiser. Kinds that have no such list are left out of the first.
 */
export const foundWithoutTheirOwner = {
  name: '0045-found-without-their-owner',
  isStepwise: true,
  up: async (knex: Knex): Promise<void> => {
    for (const index of [
      'audiences_by_key on audiences (customer_id, key)',
      'catalogs_by_key on catalogs (customer_id, key)',
      `audit_entries_begun on audit_entries (customer_id, resource_type, occurred_at, stream)
        where revision = 0 and resource_type in ('ADVERTISER', 'CAMPAIGN', 'ADCP_AGENT')`,
      `audit_entries_begun_of_advertiser
        on audit_entries (customer_id, resource_type, advertiser_id, occurred_at, stream)
        where revision = 0 and resource_type <> 'ADVERTISER'`,
    ]) {
      await knex.raw(`create index if not exists ${index}`);
    }
  },
};
