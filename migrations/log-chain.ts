import type { Knex } from 'knex';
import { code } from './schema.ts';

/**
 * The hash chain over the log (docs/design/records/0009-log-chain.md, docs/operate/log-seals.md), 9 bytes an
 * event.
 * - `chain`: from 1. Moving the log to another store starts a new chain, because positions differ there.
 * - `last`: a checkpoint without events only signs the value of the one before.
 * - `leaves`: 8 bytes of the chain's value after each event, which identify the first event that does not
 * match.
 * - `log_keys`: the public keys that signed, for display: a proof needs them from another source.
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
