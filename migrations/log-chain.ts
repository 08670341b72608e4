import type { Knex } from 'knex';
import { code } from './schema.ts';

/**
 * The hash chain over the log (docs/records/0009-log-chain.md, docs/operations.md): a follower writes down every so many
 * events what the chain has come to. It is kept for as long as the log is: some 9 bytes an event.
 *
 * - `chain`: from 1; another one is begun when the log was moved to another store, where positions are others.
 * - `last`: two checkpoints have the same where the second one has no events: it only signs the first.
 * - `leaves`: the first 8 bytes of the chain's value after each event, so that the first one that does not fit can be named.
 * - `log_keys`: the public keys that were ever signed with, for people: a proof needs them from somewhere else.
 */
export const logChain = {
  name: '0.2-log-chain',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('log_checkpoints', (table) => {
      table.integer('chain').notNullable();
      table.bigInteger('number').notNullable();
      table.text('format').notNullable();
      code(table, 'after').notNullable();
      code(table, 'last').notNullable();
      table.bigInteger('events').notNullable();
      table.binary('hash').notNullable();
      table.binary('leaves').notNullable();
      table.text('key_id');
      table.binary('signature');
      table.timestamp('sealed_at').notNullable();
      table.primary(['chain', 'number']);
      table.index(['chain', 'last', 'number'], 'log_checkpoints_by_position');
      table.index(['chain', 'number'], 'log_checkpoints_signed', {
        predicate: knex.whereNotNull('signature'),
      });
    });
    await knex.raw('alter table log_checkpoints alter column leaves set storage external');
    await knex.schema.createTable('log_keys', (table) => {
      code(table, 'key_id').primary();
      table.binary('public_key').notNullable();
      table.timestamp('first_used').notNullable().defaultTo(knex.raw('clock_timestamp()'));
    });
  },
};
