import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verifyAccessToken } from '../../query/accounts/verify-access-token.ts';
import { startOAuthService, TestClient, type OAuthService } from '../support/oauth-service.ts';
import { nodesOf, type PlanNode } from '../support/plan-nodes.ts';

let oauth: OAuthService;
beforeAll(async () => {
  oauth = await startOAuthService();
});
afterAll(() => oauth.service.stop());

/** As many rows as a planner needs to prefer an index: those of other accounts, and of the account itself. */
const fill = async (customerId: number): Promise<void> => {
  const { pool } = oauth.service;
  await pool.query(
    `insert into accounts (customer_id, name) select 1000000 + n, 'x' from generate_series(1, 3000) n`,
  );
  await pool.query(
    `insert into users (customer_id, user_id, name, role, revision, created_at)
     select case when n % 2 = 0 then $1 else 1000000 + n end, 'plan-' || n, 'x', 'member', 0, now()
     from generate_series(1, 3000) n`,
    [customerId],
  );
  await pool.query(
    `insert into oauth_grants (customer_id, grant_id, user_id, client_id, client_name, scopes, resources, created_at,
       expires_at)
     select case when n % 2 = 0 then $1 else 1000000 + n end, 'plan-' || n, 'plan-' || n, 'client', 'x', '{}', '{}',
       now(), now() + interval '90 days'
     from generate_series(1, 3000) n`,
    [customerId],
  );
  await pool.query(
    `insert into oauth_records (kind, id_hash, grant_id, payload, expires_at, kept_until)
     select kind, sha256((kind || n)::bytea), 'plan-' || n % 3000, '{}', now(), now() + interval '1 day'
     from generate_series(1, 10000) n, unnest(array['AccessToken', 'RefreshToken']) kind`,
  );
  for (const table of ['accounts', 'users', 'oauth_grants', 'oauth_records'])
    await pool.query(`analyze ${table}`);
};

it('an access token is verified with one query, which reads one row of each table by its index', async () => {
  const { service } = oauth;
  const account = await service.openAccount();
  const client = await TestClient.register(service.baseUrl);
  const { access_token: token } = await client.tokens(oauth.browserOf(account));
  await fill(account.customerId);
  const plans: PlanNode[] = [];
  const pool = {
    query: async (query: { readonly text: string; readonly values: readonly unknown[] }) => {
      const explained = await service.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
        text: `explain (analyze, format json) ${query.text}`,
        values: [...query.values],
      });
      plans.push(...explained.rows.map((row) => row['QUERY PLAN'][0].Plan));
      return service.pool.query({ text: query.text, values: [...query.values] });
    },
  } as unknown as Parameters<typeof verifyAccessToken>[0];
  const verify = verifyAccessToken(pool, () => service.baseUrl);
  expect((await verify(token, {}, '/api/v2/buyer')).outcome).toBe('verified');
  expect(plans).toHaveLength(1);
  const scans = nodesOf(plans[0]).filter((node) => node['Relation Name'] !== undefined);
  const tables = ['accounts', 'oauth_grants', 'oauth_records', 'users'];
  const ofTables = scans.filter((node) => tables.includes(node['Relation Name'] ?? ''));
  expect(ofTables.map((node) => node['Relation Name'] ?? '').toSorted()).toEqual(tables);
  for (const node of ofTables) {
    expect([node['Relation Name'], node['Node Type']]).toEqual([
      node['Relation Name'],
      expect.stringMatching(/^(?:Index|Index Only|Bitmap Heap) Scan$/),
    ]);
    const read = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
    expect([node['Relation Name'], read]).toEqual([node['Relation Name'], 1]);
  }
});
