import type { Knex } from 'knex';

type Table = Knex.CreateTableBuilder;

/**
 * A text column that is compared byte by byte: an id, a state, a key. Its index is smaller and faster than one in a
 * language's order.
 */
export const code = (table: Table, column: string): Knex.ColumnBuilder =>
  table.specificType(column, 'text collate "C"');

interface TenantTable {
  /** Fill factor of pages, in per cent. Rows that are updated often need free space in their page. Default: 100. */
  readonly fillfactor?: number;
  /** A large column to store uncompressed: compressing it costs more than it saves. */
  readonly external?: string;
}

/** Creates a table with `customer_id` as its first column. Requests see only the rows of their account. */
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

/**
 * Second line of defence between accounts: for any query, the role of requests sees only the rows of the account that
 * its transaction is bound to, and none if it is bound to none (docs/design/isolation.md).
 */
const isolate = async (knex: Knex, table: string): Promise<void> => {
  await knex.raw(`alter table ${table} enable row level security`);
  await knex.raw(`create policy tenant on ${table} using (customer_id = current_customer_id())`);
};
