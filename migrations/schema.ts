import type { Knex } from 'knex';

type Table = Knex.CreateTableBuilder;

/** A text that is compared byte by byte: an id, a state, a key. Without a language's order its index is smaller and faster. */
export const code = (table: Table, column: string): Knex.ColumnBuilder =>
  table.specificType(column, 'text collate "C"');

interface TenantTable {
  /** How full pages are written, in per cent: rows that are updated often need room beside them. Default: 100. */
  readonly fillfactor?: number;
  /** A large column that is stored as it is: compressing it costs more than it saves. */
  readonly external?: string;
}

/** Makes a table that belongs to accounts: `customer_id` is its first column, and requests see their account's rows alone. */
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
 * The second wall between accounts: whatever a query asks for, the role that requests run under sees the rows of the account
 * that its transaction was bound to, and none when it was bound to none (docs/access.md).
 */
const isolate = async (knex: Knex, table: string): Promise<void> => {
  await knex.raw(`alter table ${table} enable row level security`);
  await knex.raw(`create policy tenant on ${table} using (customer_id = current_customer_id())`);
};
