import { Client } from 'pg';
import { advisoryLocks } from './advisory-locks.ts';

/** Requests use `REQUEST_ROLE`, or the row policies are forced on the owner. */
export type TenantIsolation = 'role' | 'forced';

/** Owns nothing, cannot log in or bypass policies. Roles belong to the server, not to a database. */
export const REQUEST_ROLE = 'exchange_requests';

export interface RequestRights {
  readonly readable: readonly string[];
  readonly updatable: { readonly table: string; readonly column: string };
  grants(role: string): string;
}

/** For the service's own connections, because forced policies also bind the owner. */
export const SYSTEM_ACCESS = 'app.access=system';

const TENANT_TABLES = `select oid, oid::regclass::text as name from pg_class
  where relrowsecurity and relkind = 'r' and relnamespace = 'public'::regnamespace`;

const force = (table: string): string => `
    drop policy if exists system on ${table};
    create policy system on ${table} to current_user using (current_setting('app.access', true) = 'system');
    alter table ${table} force row level security;`;

const unforce = (table: string): string => `alter table ${table} no force row level security;`;

/**
 * Runs it on tables whose row policies do not bind the owner: `COPY FROM` refuses tables whose policies do.
 * @param client in a transaction, so that no other one sees the tables like this
 */
export const withoutForcedPolicies = async (client: Client, work: () => Promise<void>): Promise<void> => {
  const { rows } = await client.query<{ name: string }>(`${TENANT_TABLES} and relforcerowsecurity`);
  await client.query(rows.map(({ name }) => unforce(name)).join(''));
  await work();
  await client.query(rows.map(({ name }) => force(name)).join(''));
};

/** Without the right to use or create `REQUEST_ROLE`, forces the row policies on the owner. Idempotent. */
export const isolateTenants = async (
  connectionString: string,
  rights: RequestRights,
): Promise<TenantIsolation> => {
  const client = new Client({
    connectionString,
    application_name: 'exchange-migrate',
    query_timeout: 60_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [advisoryLocks.migration]);
    const isolation = (await canUseRole(client)) ? 'role' : 'forced';
    if ((await current(client, rights)) !== isolation) {
      // Only those: each change waits for the transactions on its table, and processes of the version before run.
      const { rows } = await client.query<{ name: string }>(
        `${TENANT_TABLES} and relforcerowsecurity <> $1`,
        [isolation === 'forced'],
      );
      const change = isolation === 'role' ? unforce : force;
      const granted = isolation === 'role' ? rights.grants(REQUEST_ROLE) : '';
      const changes = rows.map(({ name }) => change(name)).join('') + granted;
      await client.query(`begin; ${changes} commit`);
    }
    return isolation;
  } finally {
    await client.end();
  }
};

const current = async (
  client: Client,
  { readable, updatable }: RequestRights,
): Promise<TenantIsolation | undefined> => {
  const { rows } = await client.query<{ forced: boolean; granted: boolean }>(
    `select bool_and(c.relforcerowsecurity) as forced,
       coalesce((select bool_and(has_table_privilege(r.oid, readable, 'select'))
           and has_column_privilege(r.oid, $3::text, $4::text, 'update')
         from pg_roles r, unnest($2::regclass[]::oid[]) readable where r.rolname = $1 group by r.oid), false)
         as granted
     from pg_class c where c.oid in (select oid from (${TENANT_TABLES}) tenant)`,
    [REQUEST_ROLE, readable, updatable.table, updatable.column],
  );
  if (rows[0]?.forced === true) return 'forced';
  return rows[0]?.granted === true ? 'role' : undefined;
};

const canUseRole = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ exists: boolean; may: boolean; member: boolean }>(
    `select r.oid is not null as exists, u.rolsuper or u.rolcreaterole as may,
       coalesce(pg_has_role(current_user, r.oid, 'member'), false) as member
     from pg_roles u left join pg_roles r on r.rolname = $1 where u.rolname = current_user`,
    [REQUEST_ROLE],
  );
  const [role] = rows;
  if (role?.member === true) return true;
  if (role?.may !== true) return false;
  return makeRole(client, role.exists).then(
    () => true,
    // The role belongs to another installation.
    (error: unknown) => (isRefused(error) ? false : Promise.reject(error)),
  );
};

/** For the embedded Postgres, as superuser: the ordinary role has no CREATEROLE. */
export const provideRequestRole = async ({
  adminUrl,
  url,
}: {
  adminUrl: string;
  url: string;
}): Promise<void> => {
  const client = new Client({ connectionString: adminUrl, query_timeout: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { username } = new URL(url);
    const { rows } = await client.query<{ exists: boolean; member: boolean }>(
      `select r.oid is not null as exists, coalesce(pg_has_role($2::name, r.oid, 'member'), false) as member
       from (select) one left join pg_roles r on r.rolname = $1`,
      [REQUEST_ROLE, username],
    );
    if (rows[0]?.member !== true) await makeRole(client, rows[0]?.exists === true, username);
  } finally {
    await client.end();
  }
};

const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '42501';

/** A process of another database may create the same role at the same time. */
const makeRole = async (client: Client, exists: boolean, member = 'current_user'): Promise<void> => {
  if (!exists) {
    await client.query(`do $$ begin
        create role ${REQUEST_ROLE} nologin;
      exception when duplicate_object or unique_violation then null;
      end $$`);
  }
  await client.query(`grant ${REQUEST_ROLE} to ${member}`);
};
