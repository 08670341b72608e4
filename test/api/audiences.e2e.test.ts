import { createHash } from 'node:crypto';
import { amount } from '../support/amount.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../src/domain/advertisers/advertiser-resource.ts';
import { randomId, resourceIdOf } from '../../src/shared/ids.ts';
import { invalid, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Audiences and the tasks of their syncs (decisions.md section 2). */

let service: RunningService;
let account: TestAccount;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
});
beforeEach(async () => {
  account = await service.openAccount();
  advertiserId = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
});
afterAll(() => service.stop());

interface Accepted {
  readonly success: boolean;
  readonly accountId: string;
  readonly operationId: string;
  readonly taskId: string;
}
interface Task {
  readonly task: {
    readonly status: string;
    readonly response: { readonly audiences: readonly { audienceId: string; action: string }[] };
  };
}
interface Listed {
  readonly audiences: readonly { audienceId: string; uploadedCount: number; status: string }[];
  readonly total: number;
}

/** A call takes up to 100,000. */
const LARGE = amount(10_000, 100_000);

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const member = (n: number) => ({
  externalId: `crm-${n}`,
  hashedEmail: hash(`${n}@example.com`),
  hashedPhone: hash(`+1206555${n}`),
});
const members = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => member(from + n));
const sync = (audiences: unknown, more: object = {}, headers = {}): Promise<ApiAnswer<Accepted>> =>
  account.api.post(`/advertisers/${advertiserId}/audiences/sync`, { audiences, ...more }, headers);
const taskOf = async ({ body }: ApiAnswer<Accepted>): Promise<Task['task']> =>
  (await account.api.get<Task>(`/tasks/${body.data.taskId}`)).body.data.task;
const list = async (query = ''): Promise<Listed> =>
  (await account.api.get<Listed>(`/advertisers/${advertiserId}/audiences${query}`)).body.data;
const sizes = async () =>
  (await list()).audiences.map(({ audienceId, uploadedCount }) => [audienceId, uploadedCount]);
const done = async (answer: ApiAnswer<Accepted>): Promise<readonly string[]> => {
  expect(answer.status).toBe(202);
  let task = await taskOf(answer);
  for (let tries = 0; task.status !== 'completed' && tries < 100; tries++) {
    expect(task).toMatchObject({ status: 'working', response: null, retryAfterSeconds: 1 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    task = await taskOf(answer);
  }
  return task.response.audiences.map(({ audienceId, action }) => `${audienceId} ${action}`);
};
const storedMembers = async (key: string) => {
  const { rows } = await service.pool.query<{
    external_id: string;
    email: string | null;
    phone: string | null;
  }>(
    `select external_id, encode(hashed_email, 'hex') as email, encode(hashed_phone, 'hex') as phone
     from audience_members where customer_id = $1 and audience_id = $2 order by external_id`,
    [account.customerId, resourceIdOf('audience', account.customerId, advertiserId, key)],
  );
  return rows;
};
const eventsOf = async (type: string) =>
  (await service.eventsOfAccount(account)).filter((event) => event.type === type);

describe('sync', () => {
  it('is accepted with a task, which is completed when the members are there', async () => {
    const answer = await sync([
      { audienceId: 'crm', name: 'Customers', add: members(0, 3), consentBasis: 'consent' },
    ]);
    expect([answer.status, answer.body.data]).toEqual([
      202,
      {
        success: true,
        accountId: String(advertiserId),
        operationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        taskId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    ]);
    expect(await done(answer)).toEqual(['crm created']);
    expect(await taskOf(answer)).toEqual({
      taskId: answer.body.data.taskId,
      taskType: 'audience_sync',
      status: 'completed',
      resourceType: 'ADVERTISER',
      resourceId: String(advertiserId),
      error: null,
      response: { audiences: [{ audienceId: 'crm', action: 'created' }] },
      metadata: {},
      retryAfterSeconds: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(await list()).toEqual({
      audiences: [
        {
          audienceId: 'crm',
          name: 'Customers',
          accountId: String(advertiserId),
          consentBasis: 'consent',
          status: 'READY',
          deleted: false,
          uploadedCount: 3,
          matchedCount: 0,
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
      ],
      total: 1,
      take: 50,
      skip: 0,
    });
    expect((await storedMembers('crm'))[1]).toEqual({
      external_id: 'crm-1',
      email: hash('1@example.com'),
      phone: hash('+12065551'),
    });
  });

  it('adds and removes; the same member is there once, and who is removed is not added', async () => {
    await done(await sync([{ audienceId: 'crm', add: [...members(0, 10), ...members(5, 10)] }]));
    expect(await sizes()).toEqual([['crm', 10]]);
    const again = {
      audienceId: 'crm',
      add: members(8, 14),
      remove: [...members(0, 4), { externalId: 'crm-13' }],
    };
    expect(await done(await sync([again]))).toEqual(['crm updated']);
    expect(await sizes()).toEqual([['crm', 9]]);
    const ids = (await storedMembers('crm')).map(({ external_id }) => external_id);
    expect(ids).toEqual(['crm-10', 'crm-11', 'crm-12', 'crm-4', 'crm-5', 'crm-6', 'crm-7', 'crm-8', 'crm-9']);
  });

  it('a member without an id of its own is known by its hash', async () => {
    const anonymous = { hashedEmail: hash('a@example.com').toUpperCase() };
    await done(await sync([{ audienceId: 'crm', add: [anonymous, { hashedPhone: hash('+1') }] }]));
    expect((await storedMembers('crm')).length).toBe(2);
    await done(await sync([{ audienceId: 'crm', remove: [anonymous] }]));
    expect((await storedMembers('crm')).map(({ phone }) => phone)).toEqual([hash('+1')]);
  });

  it('of nothing new is unchanged; an audience without members is too small', async () => {
    expect(await done(await sync([{ audienceId: 'crm' }]))).toEqual(['crm created']);
    expect(await done(await sync([{ audienceId: 'crm' }]))).toEqual(['crm unchanged']);
    expect((await list()).audiences[0]?.status).toBe('TOO_SMALL');
  });

  it('deletes what it is told to, and what it leaves out when asked; the members are gone', async () => {
    await done(await sync(['a', 'b', 'c'].map((audienceId) => ({ audienceId, add: members(0, 5) }))));
    expect(
      await done(
        await sync([
          { audienceId: 'a', delete: true },
          { audienceId: 'never', delete: true },
        ]),
      ),
    ).toEqual(['a deleted', 'never unchanged']);
    expect(await done(await sync([{ audienceId: 'b' }], { deleteMissing: true }))).toEqual([
      'b unchanged',
      'c deleted',
    ]);
    expect(await sizes()).toEqual([['b', 5]]);
    expect(await storedMembers('a')).toEqual([]);
    expect(await done(await sync([{ audienceId: 'a', add: members(7, 8) }]))).toEqual(['a created']);
    expect((await storedMembers('a')).map(({ external_id }) => external_id)).toEqual(['crm-7']);
  });

  it(`${LARGE} members go through events of bounded size`, async () => {
    const key = { 'Idempotency-Key': randomId() };
    const send = () => sync([{ audienceId: 'large', add: members(0, LARGE) }], {}, key);
    let accepted = await send();
    // On a busy machine the answer may not come in time: the repeat with the same key goes on from there.
    for (let tries = 0; accepted.status !== 202 && tries < 20; tries++) {
      expect([409, 503]).toContain(accepted.status);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      accepted = await send();
    }
    expect(await done(accepted)).toEqual(['large created']);
    expect(await sizes()).toEqual([['large', LARGE]]);
    const parts = await eventsOf('AudienceMembersStored');
    const bytes = Math.max(...parts.map(({ data }) => Buffer.byteLength(JSON.stringify(data))));
    expect(bytes).toBeLessThan(900_000);
    console.log(`${LARGE} members in ${parts.length} events of at most ${bytes} bytes`);
    expect((await service.pool.query('select from audience_batches')).rowCount).toBe(0);
  }, 120_000);

  const wrong = (add: readonly unknown[], remove: readonly unknown[] = []) => ({
    audiences: [
      { audienceId: 'ok', add: [member(1)] },
      { audienceId: 'crm', add, remove },
    ],
  });
  it.each([
    [
      'a raw e-mail',
      wrong([member(1), { externalId: 'x', hashedEmail: 'jane@example.com' }]),
      'audiences.1.add.1.hashedEmail',
    ],
    ['a raw phone', wrong([{ hashedPhone: '+12065551234' }]), 'audiences.1.add.0.hashedPhone'],
    [
      'an e-mail as id',
      wrong([{ ...member(1), externalId: 'jane@example.com' }]),
      'audiences.1.add.0.externalId',
    ],
    ['no identifier', wrong([{ externalId: 'x' }]), 'audiences.1.add.0'],
    ['no object', wrong([null]), 'audiences.1.add.0'],
    ['a removal of nobody', wrong([], [{}]), 'audiences.1.remove.0'],
    ['one audience twice', { audiences: [{ audienceId: 'a' }, { audienceId: 'a' }] }, 'audiences'],
    ['none', { audiences: [] }, 'audiences'],
    [
      'another account',
      { audiences: [{ audienceId: 'a' }], account: { account_id: '1' } },
      'account.account_id',
    ],
  ])('%s: 400, nothing is written, and what was sent is not repeated', async (_what, body, field) => {
    const answer = await account.api.post(`/advertisers/${advertiserId}/audiences/sync`, body);
    expect(refusalOf(answer)).toEqual(invalid(field));
    expect(answer.text).not.toMatch(/jane|1206/);
    expect(await eventsOf('AudienceMembersStored')).toEqual([]);
    expect(await eventsOf('AudienceSynced')).toEqual([]);
  });

  it('more than 100,000 members: 400', async () => {
    const half = Array.from({ length: 50_001 }, () => ({}));
    const answer = await sync([
      { audienceId: 'a', add: half },
      { audienceId: 'b', remove: half },
    ]);
    expect(refusalOf(answer)).toEqual(invalid('audiences'));
  });

  it('of an archived advertiser is 409, of an unknown one 404', async () => {
    await account.api.delete(`/advertisers/${advertiserId}`);
    expect(refusalOf(await sync([{ audienceId: 'a' }]))).toEqual([409, 'CONFLICT', undefined]);
    const unknown = await account.api.post('/advertisers/2147483647/audiences/sync', {
      audiences: [{ audienceId: 'a' }],
    });
    expect(unknown.status).toBe(404);
    expect((await account.api.get('/advertisers/2147483647/audiences')).status).toBe(404);
  });

  it('again with its key is the same task, and one effect', async () => {
    const key = { 'Idempotency-Key': randomId() };
    const first = await sync([{ audienceId: 'crm', add: members(0, 5) }], {}, key);
    const again = await sync([{ audienceId: 'crm', add: members(0, 5) }], {}, key);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect(await eventsOf('AudienceSynced')).toHaveLength(1);
  });
});

describe('a task', () => {
  it.each(['nonsense', '00000000-0000-4000-8000-000000000000', '%F0%9F%98%80'])('%s is 404', async (id) => {
    expect(refusalOf(await account.api.get(`/tasks/${id}`))).toEqual([404, 'NOT_FOUND', undefined]);
  });
});
