import type { Knex } from 'knex';
import { createTenantTable } from './schema.ts';

/** Completed tasks, kept for 30 days. */
export const tasks = {
  name: '0.2-tasks',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(knex, 'tasks', (table) => {
      table.uuid('task_id').notNullable();
      table.timestamp('accepted_at').notNullable();
      table.text('body').notNullable();
      table.primary(['customer_id', 'task_id']);
      table.index(['customer_id', 'accepted_at'], 'tasks_by_age');
    });
  },
};
