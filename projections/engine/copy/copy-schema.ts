import type { ClientBase, Pool } from 'pg';

export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** As the only schema in `search_path`, it makes the same projection code write the copy. */
export const copySchemaOf = (projection: string): string => `copy_of_${projection.replaceAll('-', '_')}`;

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const quotedTable = ({ schema, table }: TableName): string => `${quoted(schema)}.${quoted(table)}`;

/** A live table has a feature that cannot be copied. */
class UncopyableTableError extends Error {
  override readonly name = 'UncopyableTableError';
}

/** @param tables unqualified @throws Error if one does not exist */
export const liveTables = async (
  client: ClientBase,
  tables: readonly string[],
): Promise<readonly TableName[]> => {
  const { rows } = await client.query<TableName>(
    `select n.nspname as schema, w.name as table
     from unnest($1::text[]) with ordinality as w (name, n_th)
     left join pg_class c on c.oid = to_regclass(quote_ident(w.name)) left join pg_namespace n on n.oid = c.relnamespace
     order by w.n_th`,
    [tables],
  );
  const missing = rows.find(({ schema }) => schema === null);
  if (missing !== undefined) throw new Error(`table ${missing.table} does not exist`);
  return rows;
};

/**
 * Constraints keep their names, for later migrations. Indexes: see `indexStatements`.
 * @throws UncopyableTableError for a live table with triggers or foreign keys
 */
export const createTableLike = async (
  client: ClientBase,
  live: TableName,
  schema: string,
): Promise<TableName> => {
  const copy = { schema, table: live.table };
  await refuseUncopyable(client, live);
  const options = await storageOptions(client, live);
  await client.query(
    `create table ${quotedTable(copy)}
       (like ${quotedTable(live)} including all excluding indexes excluding constraints) ${options}`,
  );
  const { rows } = await client.query<{ statement: string }>(likeSql, [quotedTable(live), quotedTable(copy)]);
  await client.query(rows.map(({ statement }) => statement).join(';\n'));
  return copy;
};

/** Indexes without constraints, with the same names. */
export const indexStatements = async (
  client: Pick<ClientBase, 'query'> | Pick<Pool, 'query'>,
  live: TableName,
  copy: TableName,
): Promise<readonly string[]> => {
  const { rows } = await client.query<{ statement: string }>(indexesSql, [
    quotedTable(live),
    quotedTable(copy),
  ]);
  return rows.map(({ statement }) => statement);
};

/** Waits also after a failure, so that none still uses the tables. @throws the first failure */
export const allOf = async (works: readonly Promise<unknown>[]): Promise<void> => {
  for (const one of await Promise.allSettled(works)) if (one.status === 'rejected') throw one.reason;
};

/** Changes with anything that `createTableLike` and `indexStatements` copy. */
export const shapeOf = async (client: ClientBase, tables: readonly TableName[]): Promise<string> => {
  const { rows } = await client.query<{ shape: string }>(shapeSql, [tables.map(quotedTable)]);
  return rows[0]?.shape ?? '';
};

const refuseUncopyable = async (client: ClientBase, live: TableName): Promise<void> => {
  const { rows } = await client.query<{ what: string }>(
    `select 'trigger ' || tgname as what from pg_trigger where tgrelid = $1::regclass and not tgisinternal
     union all
     select 'foreign key ' || conname from pg_constraint
       where contype = 'f' and (conrelid = $1::regclass or confrelid = $1::regclass)
     union all
     select 'partition or child' from pg_inherits where inhparent = $1::regclass or inhrelid = $1::regclass`,
    [quotedTable(live)],
  );
  const [first] = rows;
  if (first !== undefined) throw new UncopyableTableError(`${live.table} has a ${first.what}`);
};

const storageOptions = async (client: ClientBase, live: TableName): Promise<string> => {
  const { rows } = await client.query<{ options: string | null }>(
    `select array_to_string(reloptions, ', ') as options from pg_class where oid = $1::regclass`,
    [quotedTable(live)],
  );
  const options = rows[0]?.options ?? '';
  return options === '' ? '' : `with (${options})`;
};

/** $1: the live table, $2: the copy, both quoted. */
const constraintsSql = `
  select format('alter table %s add constraint %I %s', $2::text, conname, pg_get_constraintdef(oid)) as statement
  from pg_constraint where conrelid = $1::regclass and contype in ('p', 'u', 'c', 'x') order by contype, conname`;

/** The definition names its table, qualified or not, at one known place. */
const indexesSql = `
  select regexp_replace(pg_get_indexdef(i.indexrelid), ' ON (ONLY )?\\S+ USING ', ' ON ' || $2::text || ' USING ')
    as statement
  from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = $1::regclass
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = i.indrelid)
    and not exists (select from pg_index j join pg_class d on d.oid = j.indexrelid
      where j.indrelid = $2::text::regclass and d.relname = c.relname)
  order by c.relname`;

const securitySql = `
  select format('alter table %s %s', $2::text, change) as statement
  from pg_class c cross join lateral (values
    (c.relrowsecurity, 'enable row level security'), (c.relforcerowsecurity, 'force row level security'))
    as has (it, change)
  where c.oid = $1::regclass and has.it`;

const policiesSql = `
  select format('create policy %I on %s as %s for %s to %s %s %s', p.polname, $2::text,
    case when p.polpermissive then 'permissive' else 'restrictive' end,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
      else 'all' end,
    (select string_agg(case when r = 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ')
      from unnest(p.polroles) r),
    coalesce('using (' || pg_get_expr(p.polqual, p.polrelid) || ')', ''),
    coalesce('with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', '')) as statement
  from pg_policy p where p.polrelid = $1::regclass order by p.polname`;

const granteeSql = `case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end`;

const grantsSql = `
  select format('grant %s on %s to %s%s', a.privilege_type, $2::text, ${granteeSql},
    case when a.is_grantable then ' with grant option' else '' end) as statement
  from pg_class c cross join lateral aclexplode(c.relacl) a
  where c.oid = $1::regclass and a.grantee <> c.relowner`;

const columnGrantsSql = `
  select format('grant %s (%I) on %s to %s%s', a.privilege_type, t.attname, $2::text, ${granteeSql},
    case when a.is_grantable then ' with grant option' else '' end) as statement
  from pg_attribute t cross join lateral aclexplode(t.attacl) a
  where t.attrelid = $1::regclass and t.attnum > 0 and not t.attisdropped`;

/** All statements that make the copy like the live table, in this order. $1 and $2 as above. */
const likeSql = `
  select statement from (
    ${[constraintsSql, securitySql, policiesSql, grantsSql, columnGrantsSql]
      .map(
        (sql, part) => `select ${part} as part, row_number() over () as n, statement from (${sql}) s${part}`,
      )
      .join(' union all ')}) parts
  order by part, n`;

const shapeSql = `
  select md5(json_agg(json_build_array(c.relname, c.reloptions, c.relacl::text, c.relrowsecurity, c.relforcerowsecurity,
    (select json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage,
        a.attacl::text, a.attcollation::int, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid))
        order by a.attnum)
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
    (select json_agg(pg_get_indexdef(i.indexrelid) order by x.relname)
      from pg_index i join pg_class x on x.oid = i.indexrelid where i.indrelid = c.oid),
    (select json_agg(json_build_array(k.conname, pg_get_constraintdef(k.oid)) order by k.conname)
      from pg_constraint k where k.conrelid = c.oid),
    (select json_agg(json_build_array(p.polname, p.polcmd, p.polpermissive, p.polroles::text,
        pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) order by p.polname)
      from pg_policy p where p.polrelid = c.oid),
    (select json_agg(json_build_array(t.tgname, pg_get_triggerdef(t.oid)) order by t.tgname)
      from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)) order by c.relname)::text) as shape
  from pg_class c where c.oid = any($1::regclass[])`;
