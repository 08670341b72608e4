import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * - `audience_members`: bytea halves the size of the hashes. `revision`: the audience's at the member's last
 * change. `uids`: `[[type, value], ...]`, sorted; null if none.
 * - `audience_removals`: AdCP requires all identifiers of a removed member, until all agents have deleted it.
 * - `audience_batches`: members that no audience event refers to yet. A later batch of the account deletes
 * old ones.
 * - `audience_sizes`: the count after each event, purged after `SIZES_KEPT_DAYS`; `superseded_at` null: the
 * current one.
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
      // For accounts that no longer sync.
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
