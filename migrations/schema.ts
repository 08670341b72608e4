import type { Knex } from 'knex';

type Table = Knex.CreateTableBuilder;

/** Compared byte by byte: an index in that order is smaller and faster than one in a language's order. */
export const code = (table: Table, column: string): Knex.ColumnBuilder =>
  table.specificType(column, 'text collate "C"');

interface TenantTable {
  /** Per cent of a page; rows that are updated often need free space. Default: 100. */
  readonly fillfactor?: number;
  /** A large column to store uncompressed: compression costs more than it saves. */
  readonly external?: string;
}

/** `customer_id` is the first column. Requests see only the rows of their account. */
export const createTenantTable = async (
  knex: Knex,
  name: string,
  columns: (table: Table) => void,
  { fillfactor, external }: TenantTable = {},
): Promise<void> => {
  await knex.schema.createTable(name, (table) => {
    table.bigInteger('customer_id').notNullable();
    columns(table);
  });
  if (fillfactor !== undefined) await knex.raw(`alter table ${name} set (fillfactor = ${fillfactor})`);
  if (external !== undefined) {
    await knex.raw(`alter table ${name} alter column ${external} set storage external`);
  }
  await isolate(knex, name);
};

/** Second line of defence: a transaction sees only the rows of its account (docs/design/isolation.md). */
const isolate = async (knex: Knex, table: string): Promise<void> => {
  await knex.raw(`alter table ${table} enable row level security`);
  await knex.raw(`create policy tenant on ${table} using (customer_id = current_customer_id())`);
};
