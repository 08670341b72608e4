import type { ClientBase } from 'pg';

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
 * Constraints and indexes keep their names, for later migrations. A few statements for all tables together.
 * @throws UncopyableTableError for a live table with triggers or foreign keys
 */
export const createTablesLike = async (
  client: ClientBase,
  live: readonly TableName[],
  schema: string,
): Promise<void> => {
  await refuseUncopyable(client, live);
  const creates = live.map(
    (from) =>
      `create table ${quotedTable({ schema, table: from.table })}
         (like ${quotedTable(from)} including all excluding indexes excluding constraints)`,
  );
  await client.query(creates.join(';\n'));
  await runGenerated(client, likeSql, live, schema);
};

/** Indexes without constraints that the copies lack, with the same names. */
export const createIndexesLike = (
  client: ClientBase,
  live: readonly TableName[],
  schema: string,
): Promise<void> => runGenerated(client, [indexesSql], live, schema);

/** @param parts select the statements of one `pair` */
const runGenerated = async (
  client: ClientBase,
  parts: readonly string[],
  live: readonly TableName[],
  schema: string,
): Promise<void> => {
  const numbered = parts.map(
    (sql, part) => `select ${part} as part, row_number() over () as n, statement from (${sql}) s${part}`,
  );
  const { rows } = await client.query<{ statement: string }>(
    `select statement from unnest($1::text[], $2::text[]) with ordinality as pair (live, copy, n_th),
       lateral (${numbered.join(' union all ')}) parts
     order by pair.n_th, part, n`,
    [live.map(quotedTable), live.map(({ table }) => quotedTable({ schema, table }))],
  );
  if (rows.length > 0) await client.query(rows.map(({ statement }) => statement).join(';\n'));
};

/** Waits also after a failure, so that none still uses the tables. @throws the first failure */
export const allOf = async (works: readonly Promise<unknown>[]): Promise<void> => {
  for (const one of await Promise.allSettled(works)) if (one.status === 'rejected') throw one.reason;
};

/** Changes with anything that `createTablesLike` copies. */
export const shapeOf = async (client: ClientBase, tables: readonly TableName[]): Promise<string> => {
  const { rows } = await client.query<{ shape: string }>(shapeSql, [tables.map(quotedTable)]);
  return rows[0]?.shape ?? '';
};

const refuseUncopyable = async (client: ClientBase, live: readonly TableName[]): Promise<void> => {
  const { rows } = await client.query<{ what: string }>(
    `select tgrelid::regclass || ' has a trigger ' || tgname as what from pg_trigger
       where tgrelid = any($1::regclass[]) and not tgisinternal
     union all
     select confrelid::regclass || ' is in a foreign key ' || conname from pg_constraint
       where contype = 'f' and (conrelid = any($1::regclass[]) or confrelid = any($1::regclass[]))
     union all
     select inhrelid::regclass || ' is a partition or child of ' || inhparent::regclass from pg_inherits
       where inhparent = any($1::regclass[]) or inhrelid = any($1::regclass[])`,
    [live.map(quotedTable)],
  );
  const [first] = rows;
  if (first !== undefined) throw new UncopyableTableError(`cannot be copied: ${first.what}`);
};

const optionsSql = `
  select format('alter table %s set (%s)', pair.copy, array_to_string(reloptions, ', ')) as statement
  from pg_class where oid = pair.live::regclass and reloptions is not null`;

const constraintsSql = `
  select format('alter table %s add constraint %I %s', pair.copy, conname, pg_get_constraintdef(oid)) as statement
  from pg_constraint where conrelid = pair.live::regclass and contype in ('p', 'u', 'c', 'x') order by contype, conname`;

/** The definition names its table, qualified or not, at one known place. */
const indexesSql = `
  select regexp_replace(pg_get_indexdef(i.indexrelid), ' ON (ONLY )?\\S+ USING ', ' ON ' || pair.copy || ' USING ')
    as statement
  from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = pair.live::regclass
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = i.indrelid)
    and not exists (select from pg_index j join pg_class d on d.oid = j.indexrelid
      where j.indrelid = pair.copy::regclass and d.relname = c.relname)
  order by c.relname`;

const securitySql = `
  select format('alter table %s %s', pair.copy, change) as statement
  from pg_class c cross join lateral (values
    (c.relrowsecurity, 'enable row level security'), (c.relforcerowsecurity, 'force row level security'))
    as has (it, change)
  where c.oid = pair.live::regclass and has.it`;

const policiesSql = `
  select format('create policy %I on %s as %s for %s to %s %s %s', p.polname, pair.copy,
    case when p.polpermissive then 'permissive' else 'restrictive' end,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
      else 'all' end,
    (select string_agg(case when r = 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ')
      from unnest(p.polroles) r),
    coalesce('using (' || pg_get_expr(p.polqual, p.polrelid) || ')', ''),
    coalesce('with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', '')) as statement
  from pg_policy p where p.polrelid = pair.live::regclass order by p.polname`;

const granteeSql = `case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end`;

const grantsSql = `
  select format('grant %s on %s to %s%s', a.privilege_type, pair.copy, ${granteeSql},
    case when a.is_grantable then ' with grant option' else '' end) as statement
  from pg_class c cross join lateral aclexplode(c.relacl) a
  where c.oid = pair.live::regclass and a.grantee <> c.relowner`;

const columnGrantsSql = `
  select format('grant %s (%I) on %s to %s%s', a.privilege_type, t.attname, pair.copy, ${granteeSql},
    case when a.is_grantable then ' with grant option' else '' end) as statement
  from pg_attribute t cross join lateral aclexplode(t.attacl) a
  where t.attrelid = pair.live::regclass and t.attnum > 0 and not t.attisdropped`;

const likeSql = [
  optionsSql,
  constraintsSql,
  securitySql,
  policiesSql,
  grantsSql,
  columnGrantsSql,
  indexesSql,
];

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
