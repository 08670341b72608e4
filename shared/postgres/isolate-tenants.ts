import { Client } from 'pg';
import { advisoryLocks } from './advisory-locks.ts';

/** Under which rights requests read: this role's, or the owner's bound by forced policies. */
export type TenantIsolation = 'role' | 'forced';

/**
 * The role that requests run under: owns nothing, cannot log in, bypasses no policy. Roles belong to the whole
 * server, so that installations in several of its databases share it; its rights are each database's own.
 */
export const REQUEST_ROLE = 'exchange_requests';

/** What requests may read all of. */
const READABLE = [
  'advertisers',
  'advertiser_counts',
  'accounts',
  'users',
  'event_sources',
  'catalogs',
  'audiences',
  'audience_sizes',
  'tasks',
  'conversion_hours',
  'conversion_health',
  'adcp_agents',
  'engine_connections',
  'syndication_records',
  'syndication_counts',
  'campaigns',
  'campaign_counts',
  'creatives',
  'creative_campaigns',
  'creative_assets',
  'creative_counts',
  'creative_submissions',
  'sellers',
  'creative_sessions',
  'assets',
  'asset_counts',
  'audit_entries',
  'audit_campaigns',
  'audit_causes',
  'audit_attempts',
  'account_positions',
  'conversion_positions',
  'projection_checkpoints',
] as const;

/** What requests may do. `api_keys.secret_hash` is written and never read: who asks is found out before. */
const GRANTS = `
  grant select on ${READABLE.join(', ')} to ${REQUEST_ROLE};
  grant select (projection, stream, customer_id) on parked_streams to ${REQUEST_ROLE};
  grant select (key_id, customer_id, user_id, name, masked_key, scopes, created_at, expires_at, last_used_at,
    revoked_at, sealed_secret, sealed_until, announced), insert,
    update (revoked_at, sealed_secret, sealed_until, announced), delete on api_keys to ${REQUEST_ROLE};
`;

const TABLES = [
  'advertisers',
  'advertiser_counts',
  'accounts',
  'users',
  'api_keys',
  'parked_streams',
  'event_sources',
  'catalogs',
  'audiences',
  'audience_sizes',
  'audience_members',
  'audience_batches',
  'tasks',
  'conversion_segments',
  'conversion_commands',
  'conversion_hours',
  'conversion_health',
  'conversion_confirmations',
  'adcp_agents',
  'engine_connections',
  'work_list',
  'syndication_records',
  'syndication_counts',
  'campaigns',
  'campaign_counts',
  'audience_removals',
  'syndication_deliveries',
  'creatives',
  'creative_campaigns',
  'creative_assets',
  'creative_counts',
  'creative_submissions',
  'sellers',
  'creative_sessions',
  'assets',
  'asset_counts',
  'asset_objects',
  'audit_entries',
  'audit_campaigns',
  'audit_causes',
  'audit_attempts',
  'personal_keys',
  'forgettings',
] as const;

/** Connections that are no request's say so, where the owner itself is bound by the policies. */
export const SYSTEM_ACCESS = 'app.access=system';

const FORCE = TABLES.map(
  (table) => `
    drop policy if exists system on ${table};
    create policy system on ${table} to current_user using (current_setting('app.access', true) = 'system');
    alter table ${table} force row level security;`,
).join('');

const UNFORCE = TABLES.map((table) => `alter table ${table} no force row level security;`).join('');

/**
 * Sees to it that the policies of the migrations bind requests. Usually under `REQUEST_ROLE`, which is made if
 * the connection may; where it neither exists for us nor can be made (an ordinary role without CREATEROLE), the
 * policies are forced on the owner itself. Safe to repeat, and on many nodes at once.
 */
export const isolateTenants = async (connectionString: string): Promise<TenantIsolation> => {
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
    if ((await current(client)) !== isolation) {
      const changes = isolation === 'role' ? UNFORCE + GRANTS : FORCE;
      await client.query(`begin; ${changes} commit`);
    }
    return isolation;
  } finally {
    await client.end();
  }
};

/** What was set up before, so that a start changes nothing when nothing has to change. */
const current = async (client: Client): Promise<TenantIsolation | undefined> => {
  const { rows } = await client.query<{ forced: boolean; granted: boolean }>(
    `select bool_and(c.relforcerowsecurity) as forced,
       coalesce((select bool_and(has_table_privilege(r.oid, readable, 'select'))
           and has_column_privilege(r.oid, 'api_keys', 'announced', 'update')
         from pg_roles r, unnest($3::regclass[]::oid[]) readable where r.rolname = $1 group by r.oid), false)
         as granted
     from pg_class c where c.oid = any($2::regclass[]::oid[])`,
    [REQUEST_ROLE, TABLES, READABLE],
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
    // A role that another installation made, and that is not ours to use.
    (error: unknown) => (isRefused(error) ? false : Promise.reject(error)),
  );
};

/** On the embedded Postgres, whose superuser is ours to ask: its ordinary role may make no others. */
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

/** Roles are the server's: another database's start may be making the same one right now. */
const makeRole = async (client: Client, exists: boolean, member = 'current_user'): Promise<void> => {
  if (!exists) {
    await client.query(`do $$ begin
        create role ${REQUEST_ROLE} nologin;
      exception when duplicate_object or unique_violation then null;
      end $$`);
  }
  await client.query(`grant ${REQUEST_ROLE} to ${member}`);
};
