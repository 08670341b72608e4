import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Installation } from '../../app/installation.ts';
import { createAccount, createSellerAccount } from '../../app/create-account.ts';
import { readConfig } from '../../app/config.ts';
import { provideRequestRole } from '../../shared/postgres/isolate-tenants.ts';
import { createTenantDatabase, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';

/**
 * The database isolates accounts for each kind of role in `DATABASE_URL`. The statements omit the account, as a
 * faulty query would.
 */

const adminUrl = (): string =>
  process.env['TEST_POSTGRES_ADMIN_URL'] ?? process.env['DATABASE_URL'] ?? 'postgres://none';

const asAdmin = async (...statements: readonly string[]): Promise<void> => {
  const client = new Client({ connectionString: adminUrl() });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
};

const name = `isolation_${randomBytes(4).toString('hex')}`;
const urlOf = (user?: string): string => {
  const url = new URL(adminUrl());
  url.pathname = `/${name}`;
  if (user !== undefined) [url.username, url.password] = [user, 'secret'];
  return url.href;
};

/** Before Postgres 16, a role with `createrole` may join any role; since then, only roles that it created. */
const mayJoinAnyRole = async (): Promise<boolean> => {
  const client = new Client({ connectionString: adminUrl() });
  await client.connect();
  const { rows } = await client.query<{ before16: boolean }>(
    `select current_setting('server_version_num')::int < 160000 as before16`,
  );
  await client.end();
  return rows[0]?.before16 === true;
};

describe.each([
  ['a superuser', 'role'],
  ['an ordinary owner', 'forced'],
  ['an ordinary owner with the request role', 'role'],
  ['an owner with createrole', (await mayJoinAnyRole()) ? 'role' : 'forced'],
] as const)('connected as %s', (kind, expected) => {
  let installation: Installation;
  let database: TenantDatabase;
  let accounts: readonly number[];
  beforeAll(async () => {
    const attributes = kind === 'an owner with createrole' ? 'createrole' : 'nocreaterole';
    const user = kind === 'a superuser' ? undefined : `owner_${name}`;
    await asAdmin(
      ...(user === undefined ? [] : [`create role ${user} login password 'secret' ${attributes}`]),
      `create database ${name} ${user === undefined ? '' : `owner ${user}`}`,
    );
    const url = urlOf(user);
    if (kind === 'an ordinary owner with the request role') {
      await provideRequestRole({ adminUrl: adminUrl(), url });
    }
    installation = await openWithLongTimeouts(readConfig({ DATABASE_URL: url }), 'isolation');
    await installation.migrate();
    await installation.migrate();
    const opened = [await createAccount(installation, 'A'), await createAccount(installation, 'B')];
    accounts = opened.map(({ customerId }) => customerId);
    database = createTenantDatabase(installation.requestPool);
  });
  afterAll(async () => {
    await installation.close();
    await asAdmin(`drop database ${name} with (force)`);
    if (kind !== 'a superuser') await asAdmin(`drop owned by owner_${name}`, `drop role owner_${name}`);
  });

  const everything = {
    name: 'everything',
    text: 'select customer_id::int as "customerId", name from accounts',
  };
  const namesOf = async (customerId: number): Promise<unknown[]> =>
    (await database.query<{ name: string }>(customerId, { ...everything, values: [] })).map(
      (row) => row.name,
    );

  it(`requests are restricted: ${expected}`, async () => {
    const { rows } = await installation.requestPool.query<{ user: string; role: string; bypass: boolean }>(
      `select session_user as "user", current_user as role, rolbypassrls or rolsuper as bypass
       from pg_roles where rolname = current_user`,
    );
    expect(rows[0]?.bypass).toBe(false);
    expect(rows[0]?.role === rows[0]?.user).toBe(expected === 'forced');
  });

  it('given a new table, then the next start restricts it', async () => {
    const { pool } = installation;
    await pool.query('alter table event_sources no force row level security');
    if (expected === 'role') await pool.query('revoke select on event_sources from exchange_requests');
    await installation.migrate();
    const { rows } = await pool.query<{ bound: boolean }>(
      expected === 'role'
        ? `select has_table_privilege('exchange_requests', 'event_sources', 'select') as bound`
        : `select relforcerowsecurity as bound from pg_class where oid = 'event_sources'::regclass`,
    );
    expect(rows).toEqual([{ bound: true }]);
  });

  it('a query returns the rows of its account', async () => {
    expect(await namesOf(accounts[0] ?? 0)).toEqual(['A']);
    expect(await namesOf(accounts[1] ?? 0)).toEqual(['B']);
    expect(await namesOf(2_147_483_647)).toEqual([]);
  });

  it('a query for several accounts returns each account its own rows', async () => {
    const [a = 0, b = 0] = accounts;
    const questions = [a, b, a, 2_147_483_647, b].map((customerId) => ({ customerId, values: [] }));
    const answers = await database.queryEach<{ name: string }>(everything, questions);
    expect(answers.map((rows) => rows.map((row) => row.name))).toEqual([['A'], ['B'], ['A'], [], ['B']]);
  });

  it('a query without an account returns nothing, also after a query with an account', async () => {
    const client = await installation.requestPool.connect();
    try {
      expect((await client.query('select from accounts')).rowCount).toBe(0);
    } finally {
      client.release();
    }
    await Promise.all(Array.from({ length: 20 }, () => namesOf(accounts[0] ?? 0)));
    for (let n = 0; n < 20; n++) {
      expect((await installation.requestPool.query('select from api_keys')).rowCount).toBe(0);
    }
  });

  it('after an error the connection is usable and has no account', async () => {
    const broken = {
      name: 'broken',
      text: 'select 1 / (customer_id - customer_id) from accounts',
      values: [],
    };
    await expect(database.query(accounts[0] ?? 0, broken)).rejects.toThrow('division by zero');
    const nonsense = { name: 'nonsense', text: 'select nothing from nowhere', values: [] };
    for (let n = 0; n < 3; n++) {
      await expect(database.query(accounts[0] ?? 0, nonsense)).rejects.toThrow('nowhere');
    }
    expect(await namesOf(accounts[1] ?? 0)).toEqual(['B']);
    expect((await installation.requestPool.query('select from accounts')).rowCount).toBe(0);
  });

  it('requests cannot write rows of another account', async () => {
    const [a = 0, b = 0] = accounts;
    const revoke = {
      name: 'revoke-all',
      text: 'update api_keys set revoked_at = now() returning customer_id',
      values: [],
    };
    expect(await database.query(2_147_483_647, revoke)).toEqual([]);
    await expect(
      database.query(a, {
        name: 'insert-theirs',
        text: `insert into api_keys (key_id, customer_id, user_id, name, masked_key, scopes, secret_hash)
               values ('x', $1, 'x', 'x', 'x', '{}', '')`,
        values: [b],
      }),
    ).rejects.toThrow('row-level security');
    expect(
      await database.query(a, {
        ...revoke,
        name: 'delete-all',
        text: 'delete from api_keys returning key_id',
      }),
    ).toHaveLength(1);
    const { rows } = await installation.pool.query<{ customer_id: string }>(
      'select customer_id from api_keys',
    );
    expect(rows.map(({ customer_id }) => Number(customer_id))).toEqual([b]);
  });

  it('the rest of the service can read all accounts', async () => {
    expect((await installation.pool.query('select from accounts')).rowCount).toBe(2);
  });

  it("a seller's account can read the owners of creatives submitted to it; a buyer's account cannot", async () => {
    const [buyer = 0] = accounts;
    const sellers = await Promise.all([1, 2].map((seller) => createSellerAccount(installation, 'S', seller)));
    await installation.pool.query(
      `insert into creative_submissions select s, gen_random_uuid(), $1 from unnest(array[1, 1, 2, 3]) s`,
      [buyer],
    );
    const seen = async (customerId: number): Promise<unknown[]> => {
      const question = {
        name: 'submissions',
        text: 'select seller_id from creative_submissions',
        values: [],
      };
      return (await database.query<{ seller_id: number }>(customerId, question)).map((row) => row.seller_id);
    };
    expect(await Promise.all(sellers.map(({ customerId }) => seen(customerId)))).toEqual([[1, 1], [2]]);
    expect(await seen(buyer)).toEqual([]);
    expect((await installation.requestPool.query('select from creative_submissions')).rowCount).toBe(0);
  });

  if (expected === 'forced') return;
  it.each([
    'select secret_hash from api_keys',
    'select from events',
    'select from idempotency_keys',
    `insert into advertiser_counts values (1, 'ACTIVE', false, 1)`,
    'delete from accounts',
    'update users set role = role',
    'alter table accounts disable row level security',
  ])('requests have no right to: %s', async (sql) => {
    const client = await installation.requestPool.connect();
    try {
      await expect(client.query(sql)).rejects.toThrow(/permission denied|must be owner|does not exist/);
    } finally {
      client.release(true);
    }
  });
});
