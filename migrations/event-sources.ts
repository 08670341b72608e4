import type { Knex } from 'knex';
import { code, createTenantTable } from './schema.ts';

/**
 * The index by key starts with the status: conversion calls search by key, which all advertisers may share.
 */
export const eventSources = {
  name: '0.2-event-sources',
  up: async (knex: Knex): Promise<void> => {
    await createTenantTable(
      knex,
      'event_sources',
      (table) => {
        table.uuid('id').notNullable();
        table.integer('advertiser_id').notNullable();
        code(table, 'key').notNullable();
        code(table, 'status').notNullable();
        table.bigInteger('revision').notNullable();
        table.timestamp('created_at').notNullable();
        table.text('body').notNullable();
        table.primary(['customer_id', 'id']);
        table.index(['customer_id', 'key', 'status'], 'event_sources_by_key_and_status');
        table.index(
          ['customer_id', 'advertiser_id', 'status', 'created_at', 'id'],
          'event_sources_by_advertiser',
        );
      },
      { fillfactor: 85 },
    );
  },
};
