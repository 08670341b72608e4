import { amount } from '../support/amount.ts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client, type ClientBase, type QueryResult } from 'pg';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { audiencesProjection } from '../../projections/audiences.ts';
import { UnprojectableEventError } from '../../projections/engine/projection.ts';
import { createLog } from '../../app/log.ts';
import { createRandom } from '../faults/kit/random.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/**
 * Compares the audiences read model with a model of twenty lines, after random syncs; then rebuilds it from the log, in
 * batches of random size, each delivered three times.
 */

const SEED = Number(process.env['FAULT_SEED'] ?? 1);
const SYNCS = amount(40, 60);
const KEYS = ['a', 'b', 'c', 'd'];
const PEOPLE = 40;

/** Rows that each statement deleted from `audience_members`. */
const deleted: number[] = [];
const countingDeletes = (client: ClientBase): ClientBase =>
  new Proxy(client, {
    get: (target, name: keyof ClientBase) => {
      if (name !== 'query') return target[name];
      return async (query: string | { readonly text: string }) => {
        const result = (await Reflect.apply(target.query, target, [query])) as QueryResult;
        const text = typeof query === 'string' ? query : query.text;
        if (text.startsWith('delete from audience_members')) deleted.push(result.rowCount ?? 0);
        return result;
      };
    },
  });

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), {
    projection: (projection) => ({
      ...projection,
      apply: (client, events) => projection.apply(countingDeletes(client), events),
    }),
  });
  account = await service.openAccount();
});
afterAll(() => service.stop());

const member = (n: number) => ({
  externalId: `p${n}`,
  ...(n % 3 === 0 ? {} : { hashedPhone: n.toString(16).padStart(64, '0') }),
  ...(n % 3 === 1 ? {} : { uids: [{ type: 'uid2', value: `${n}==` }] }),
});

const membersByAudience = async (
  client: Pick<Client, 'query'>,
): Promise<Record<string, readonly string[]>> => {
  const { rows } = await client.query<{ key: string; counted: string; members: string[] }>(
    `select a.key, a.members as counted,
       array(select external_id from audience_members m
             where m.customer_id = a.customer_id and m.audience_id = a.id order by external_id) as members
     from audiences a where a.customer_id = $1 and a.status = 'ACTIVE' order by a.key`,
    [account.customerId],
  );
  for (const { counted, members } of rows) expect(Number(counted)).toBe(members.length);
  return Object.fromEntries(rows.map(({ key, members }) => [key, members]));
};

const dump = async (client: Pick<Client, 'query'>): Promise<string> => {
  const tables = ['audiences', 'audience_sizes', 'audience_members', 'audience_removals', 'tasks'];
  const rows = await Promise.all(
    tables.map((table) => client.query(`select * from ${table} order by 1, 2, 3`)),
  );
  return JSON.stringify(rows.map((result) => result.rows as unknown));
};

it('deletes an audience of any size in statements of bounded size', async () => {
  const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Large' })).body.data;
  const sync = async (audience: object): Promise<void> => {
    const answer = await account.api.post(`/advertisers/${id}/audiences/sync`, { audiences: [audience] });
    expect(answer.status).toBe(202);
    expect((await account.api.get(`/advertisers/${id}/audiences`)).status).toBe(200);
  };
  await sync({ audienceId: 'large', add: [member(0)] });
  await service.pool.query(
    `insert into audience_members (customer_id, audience_id, external_id, hashed_email)
     select a.customer_id, a.id, 'many-' || n, decode(lpad(to_hex(n), 64, '0'), 'hex')
     from audiences a, generate_series(1, 44999) n where a.customer_id = $1`,
    [account.customerId],
  );
  deleted.length = 0;
  await sync({ audienceId: 'large', delete: true });
  expect(deleted).toEqual([20_000, 20_000, 5_000]);
  expect(await membersByAudience(service.pool)).toEqual({});
});

it('contains the synced members, also after a rebuild', async () => {
  const random = createRandom(SEED);
  const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  const model = new Map<string, Set<string>>();
  for (let n = 0; n < SYNCS; n++) {
    const some = () => Array.from({ length: random.below(12) }, () => member(random.below(PEOPLE)));
    const keys = KEYS.filter(() => random.below(2) === 0);
    const audiences = (keys.length === 0 ? ['a'] : keys).map((audienceId) =>
      random.below(6) === 0 ? { audienceId, delete: true } : { audienceId, add: some(), remove: some() },
    );
    const deleteMissing = random.below(10) === 0;
    const answer = await account.api.post(`/advertisers/${id}/audiences/sync`, { audiences, deleteMissing });
    expect(answer.status).toBe(202);
    for (const { audienceId, ...change } of audiences) {
      if ('delete' in change) model.delete(audienceId);
      else {
        const members = model.get(audienceId) ?? new Set();
        for (const { externalId } of change.add) members.add(externalId);
        for (const { externalId } of change.remove) members.delete(externalId);
        model.set(audienceId, members);
      }
    }
    const named = audiences.map(({ audienceId }) => audienceId);
    for (const key of KEYS) if (deleteMissing && !named.includes(key)) model.delete(key);
  }
  // Waits for the read model.
  expect((await account.api.get(`/advertisers/${id}/audiences`)).status).toBe(200);
  const expected = Object.fromEntries(
    [...model].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, members]) => [key, [...members].sort()]),
  );
  expect(await membersByAudience(service.pool)).toEqual(expected);

  const live = await dump(service.pool);
  const log = await service.readLog();
  await service.end();
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  await client.query(`truncate ${audiencesProjection.tables.join(', ')}`);
  let deliveries = 0;
  for (let from = 0; from < log.length;) {
    const size = 1 + random.below(30);
    for (let times = 0; times < 3; times++) {
      await client.query('begin');
      await audiencesProjection.apply(client, log.slice(from, from + size));
      await client.query('commit');
      deliveries += 1;
    }
    from += size;
  }
  expect(await dump(client)).toBe(live);

  // Without the members that it refers to, an audience is not shown as if it had none.
  await client.query(`truncate ${audiencesProjection.tables.join(', ')}`);
  const incomplete = log.filter(({ type }) => type !== 'AudienceMembersStored');
  await expect(audiencesProjection.apply(client, incomplete)).rejects.toThrow(UnprojectableEventError);
  await client.end();
  console.log(`seed ${SEED}: ${SYNCS} syncs, ${log.length} events, ${deliveries} deliveries`);
});
