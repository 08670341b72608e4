import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * The audiences read model, in the form of the event sources' one, with its members.
 *
 * - `audience_members`: for delivery. Identifiers are hashes; bytea halves them. `revision`: of the audience, when the member
 *   last changed. `uids`: universal ids, `[[type, value], ...]`, sorted; null for none.
 * - `audience_removals`: who is no member any more, until all agents have surely heard of it: AdCP wants all identifiers of
 *   members that are to be removed.
 * - `audience_batches`: members that were stored and that no audience refers to yet. A batch lives from its first part to
 *   the event that refers to it; one that nothing ever refers to goes with a later one of the account.
 * - `audience_sizes`: how many members an audience had behind each of its events: lists of the past show it. Superseded rows
 *   are purged later (`SIZES_KEPT_DAYS`); null: the current size.
 */
export const audiences = {
  name: '0.2-audiences',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'audiences',
      (table) => {
        table.uuid('id').notNullable();
        table.integer('advertiser_id').notNullable();
        code(table, 'key').notNullable();
        code(table, 'status').notNullable();
        table.bigInteger('revision').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.bigInteger('members').notNullable().defaultTo(0);
        table.primary(['customer_id', 'id']);
        table.index(['customer_id', 'key'], 'audiences_by_key');
        table.index(
          ['customer_id', 'advertiser_id', 'status', 'created_at', 'id'],
          'audiences_by_advertiser',
        );
      },
      { fillfactor: 85 },
    );
    await createTenantTable(knex, 'audience_members', (table) => {
      table.uuid('audience_id').notNullable();
      code(table, 'external_id').notNullable();
      table.binary('hashed_email');
      table.binary('hashed_phone');
      table.bigInteger('revision').notNullable().defaultTo(0);
      table.jsonb('uids');
      table.primary(['customer_id', 'audience_id', 'external_id']);
      table.index(['customer_id', 'audience_id', 'revision', 'external_id'], 'audience_members_by_change');
    });
    await createTenantTable(knex, 'audience_removals', (table) => {
      table.uuid('audience_id').notNullable();
      code(table, 'external_id').notNullable();
      table.binary('hashed_email');
      table.binary('hashed_phone');
      table.bigInteger('revision').notNullable();
      table.timestamp('removed_at').notNullable();
      table.jsonb('uids');
      table.primary(['customer_id', 'audience_id', 'external_id']);
      table.index(['customer_id', 'audience_id', 'revision', 'external_id'], 'audience_removals_by_change');
      table.index(['customer_id', 'removed_at'], 'audience_removals_by_age');
      // For accounts that sync nothing any more.
      table.index(['removed_at'], 'audience_removals_by_time');
    });
    await createTenantTable(knex, 'audience_batches', (table) => {
      table.uuid('batch_id').notNullable();
      table.integer('part').notNullable();
      table.timestamp('stored_at').notNullable();
      table.text('body').notNullable();
      table.primary(['customer_id', 'batch_id', 'part']);
      table.index(['customer_id', 'stored_at'], 'audience_batches_by_age');
    });
    await createTenantTable(knex, 'audience_sizes', (table) => {
      table.uuid('audience_id').notNullable();
      table.bigInteger('revision').notNullable();
      table.bigInteger('members').notNullable();
      table.timestamp('superseded_at');
      table.primary(['customer_id', 'audience_id', 'revision']);
      table.index(['superseded_at'], 'audience_sizes_superseded', {
        predicate: knex.whereNotNull('superseded_at'),
      });
    });
  },
};
