import { createHash, randomUUID } from 'node:crypto';
import { amount } from '../support/amount.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { conflict, invalid, notFound, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

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

interface AcceptedSync {
  readonly success: boolean;
  readonly accountId: string;
  readonly operationId: string;
  readonly taskId: string;
}
interface Task {
  readonly task: {
    readonly status: string;
    readonly error: string | null;
    readonly response: {
      readonly audiences: readonly { audienceId: string | null; action: string }[];
      readonly failedMembers?: readonly object[];
    };
  };
}
interface AudienceRow {
  readonly audiences: readonly { audienceId: string; uploadedCount: number; status: string }[];
  readonly total: number;
}

/** A call accepts up to 100,000. */
const LARGE = amount(10_000, 100_000);

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const member = (n: number) => ({
  externalId: `crm-${n}`,
  hashedEmail: hash(`${n}@example.com`),
  hashedPhone: hash(`+1206555${n}`),
});
const members = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => member(from + n));
const sync = (audiences: unknown, more: object = {}, headers = {}): Promise<ApiAnswer<AcceptedSync>> =>
  account.api.post(`/advertisers/${advertiserId}/audiences/sync`, { audiences, ...more }, headers);
const taskOf = async ({ body }: ApiAnswer<AcceptedSync>): Promise<Task['task']> =>
  (await account.api.get<Task>(`/tasks/${body.data.taskId}`)).body.data.task;
const list = async (query = ''): Promise<AudienceRow> =>
  (await account.api.get<AudienceRow>(`/advertisers/${advertiserId}/audiences${query}`)).body.data;
const sizes = async () =>
  (await list()).audiences.map(({ audienceId, uploadedCount }) => [audienceId, uploadedCount]);
const ended = async (answer: ApiAnswer<AcceptedSync>): Promise<Task['task']> => {
  expect(answer.status).toBe(202);
  let task = await taskOf(answer);
  for (let tries = 0; task.status === 'working' && tries < 100; tries++) {
    expect(task).toMatchObject({ response: null, retryAfterSeconds: 1 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    task = await taskOf(answer);
  }
  return task;
};
const done = async (answer: ApiAnswer<AcceptedSync>): Promise<readonly string[]> => {
  const { status, response } = await ended(answer);
  expect(status).toBe('completed');
  return response.audiences.map(({ audienceId, action }) => `${audienceId} ${action}`);
};
const storedMembers = async (key: string) => {
  const { rows } = await service.pool.query<{
    external_id: string;
    email: string | null;
    phone: string | null;
    uids: readonly (readonly [string, string])[] | null;
  }>(
    `select external_id, encode(hashed_email, 'hex') as email, encode(hashed_phone, 'hex') as phone, uids
     from audience_members where customer_id = $1 and audience_id = $2 order by external_id`,
    [account.customerId, resourceIdOf('audience', account.customerId, advertiserId, key)],
  );
  return rows;
};
const eventsOf = async (type: string) =>
  (await service.eventsOfAccount(account)).filter((event) => event.type === type);

describe('sync', () => {
  it('is accepted with a task, which completes when the members are stored', async () => {
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
      uids: null,
    });
  });

  it('adds and removes members; a duplicate counts once, and a removed member is not added', async () => {
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

  it('identifies a member without an external id by its hash', async () => {
    const anonymous = { hashedEmail: hash('a@example.com').toUpperCase() };
    await done(await sync([{ audienceId: 'crm', add: [anonymous, { hashedPhone: hash('+1') }] }]));
    expect((await storedMembers('crm')).length).toBe(2);
    await done(await sync([{ audienceId: 'crm', remove: [anonymous] }]));
    expect((await storedMembers('crm')).map(({ phone }) => phone)).toEqual([hash('+1')]);
  });

  it('without changes is "unchanged"; an audience without members is too small', async () => {
    expect(await done(await sync([{ audienceId: 'crm' }]))).toEqual(['crm created']);
    expect(await done(await sync([{ audienceId: 'crm' }]))).toEqual(['crm unchanged']);
    expect((await list()).audiences[0]?.status).toBe('TOO_SMALL');
  });

  it('deletes named audiences, and on request all unnamed ones, with their members', async () => {
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

  it(`splits ${LARGE} members into events of bounded size`, async () => {
    const key = { 'Idempotency-Key': randomUUID() };
    const send = () => sync([{ audienceId: 'large', add: members(0, LARGE) }], {}, key);
    let accepted = await send();
    // On a busy machine the answer may come too late. A repeat with the same key continues.
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

  it.each([
    ['one audience twice', { audiences: [{ audienceId: 'a' }, { audienceId: 'a' }] }, 'audiences'],
    ['no list of audiences', { audiences: { audienceId: 'a' } }, 'audiences'],
    ['none', { audiences: [] }, 'audiences'],
    [
      'too many',
      { audiences: Array.from({ length: 51 }, (_, n) => ({ audienceId: `a-${n}` })) },
      'audiences',
    ],
    [
      'another account',
      { audiences: [{ audienceId: 'a' }], account: { account_id: '1' } },
      'account.account_id',
    ],
    [
      'an audience without its id where those that are left out are to be deleted',
      { audiences: [{ audienceId: 'a' }, { name: 'B' }], deleteMissing: true },
      'audiences.1.audienceId',
    ],
  ])('refuses %s with 400 and appends no event', async (_what, body, field) => {
    const answer = await account.api.post(`/advertisers/${advertiserId}/audiences/sync`, body);
    expect(refusalOf(answer)).toEqual(invalid(field));
    expect(await eventsOf('AudienceMembersStored')).toEqual([]);
    expect(await eventsOf('AudienceSynced')).toEqual([]);
  });

  it('refuses more than 100,000 members with 400', async () => {
    const half = Array.from({ length: 50_001 }, () => ({}));
    const answer = await sync([
      { audienceId: 'a', add: half },
      { audienceId: 'b', remove: half },
    ]);
    expect(refusalOf(answer)).toEqual(invalid('audiences'));
  });

  it('is 409 for an archived advertiser and 404 for an unknown one', async () => {
    await account.api.delete(`/advertisers/${advertiserId}`);
    expect(refusalOf(await sync([{ audienceId: 'a' }]))).toEqual(conflict());
    const unknown = await account.api.post('/advertisers/2147483647/audiences/sync', {
      audiences: [{ audienceId: 'a' }],
    });
    expect(unknown.status).toBe(404);
    expect((await account.api.get('/advertisers/2147483647/audiences')).status).toBe(404);
  });

  it('repeated with its key returns the same task and has one effect', async () => {
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await sync([{ audienceId: 'crm', add: members(0, 5) }], {}, key);
    const again = await sync([{ audienceId: 'crm', add: members(0, 5) }], {}, key);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect(await eventsOf('AudienceSynced')).toHaveLength(1);
  });
});

describe('members with universal ids', () => {
  const uid2 = { type: 'uid2', value: 'KlKKKfE66A7xBnL/DsT1UV/Q+V/r3xwKL89Wp7hpNllxmNkPaF8vdzenDvfoatn6' };
  const maid = { type: 'maid', value: 'EA7583CD-A667-48BC-B806-42ECB2B48606' };

  it('are added and removed like members with hashes', async () => {
    const ramp = { externalId: 'crm-2', hashedEmail: hash('2@example.com'), uids: [uid2, maid, uid2] };
    expect(await done(await sync([{ audienceId: 'crm', add: [{ uids: [uid2] }, ramp] }]))).toEqual([
      'crm created',
    ]);
    expect(await sizes()).toEqual([['crm', 2]]);
    expect(await storedMembers('crm')).toEqual(
      [
        {
          external_id: hash(`uid2:${uid2.value}`),
          email: null,
          phone: null,
          uids: [['uid2', uid2.value]],
        },
        {
          external_id: 'crm-2',
          email: hash('2@example.com'),
          phone: null,
          uids: [
            ['maid', maid.value],
            ['uid2', uid2.value],
          ],
        },
      ].sort((one, other) => (one.external_id < other.external_id ? -1 : 1)),
    );
    await done(await sync([{ audienceId: 'crm', remove: [{ uids: [uid2] }] }]));
    expect((await storedMembers('crm')).map(({ external_id }) => external_id)).toEqual(['crm-2']);
  });

  it('may have ten long ids each: events and answers stay bounded', async () => {
    const add = Array.from({ length: 400 }, (_, n) => ({
      externalId: `crm-${n}`,
      uids: Array.from({ length: 10 }, (_unused, m) => ({
        type: 'other',
        value: `${n}-${m}-`.padEnd(512, 'x'),
      })),
    }));
    expect(await done(await sync([{ audienceId: 'crm', add }]))).toEqual(['crm created']);
    expect(await sizes()).toEqual([['crm', 400]]);
    const bytes = (await eventsOf('AudienceMembersStored')).map(({ data }) => JSON.stringify(data).length);
    expect(Math.max(...bytes)).toBeLessThan(900_000);
  });
});

describe('an invalid audience or member', () => {
  /** The tables that contain a text in any column. */
  const tablesWith = async (needle: string): Promise<readonly string[]> => {
    const { rows } = await service.pool.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public'`,
    );
    const found: string[] = [];
    for (const { name } of rows) {
      const hits = await service.pool.query(`select from ${name} t where t::text like $1 limit 1`, [
        `%${needle}%`,
      ]);
      if (hits.rowCount !== 0) found.push(name);
    }
    return found;
  };

  it('fails alone; the task names its index, audience and reason', async () => {
    const answer = await sync([
      { audienceId: 'ok', add: [member(1)] },
      {
        audienceId: 'crm',
        add: [
          member(1),
          { externalId: 'x', hashedEmail: 'jane@example.com' },
          { hashedPhone: '+12065551234' },
          { ...member(2), externalId: 'jane@example.com' },
          { externalId: 'x' },
          null,
          { uids: [{ type: 'uid2', value: 'jane@example.com' }] },
          { uids: [{ type: 'other', value: '+1-206-555-1234' }] },
          { uids: [{ type: 'hashed_email', value: 'jane@example.com' }] },
          { uids: [{ type: 'cookie', value: 'abc' }] },
          { uids: [{ type: 'uid2' }] },
          { ...member(3), uids: Array.from({ length: 11 }, () => ({ type: 'uid2', value: 'a' })) },
          member(4),
        ],
        remove: [{}, { externalId: 'crm-1' }],
      },
    ]);
    const task = await ended(answer);
    expect(task).toMatchObject({ status: 'completed', error: null });
    expect(task.response).toEqual({
      audiences: [
        { audienceId: 'ok', action: 'created' },
        { audienceId: 'crm', action: 'created', membersFailed: 12 },
      ],
      failedMembers: [
        ['add', 1, /^hashedEmail must be a SHA-256 hash of 64 hexadecimal digits/],
        ['add', 2, /^hashedPhone must be a SHA-256 hash of 64 hexadecimal digits/],
        ['add', 3, /^externalId must be 1 to 128 letters, digits/],
        ['add', 4, /^the member must have hashedEmail, hashedPhone or uids$/],
        ['add', 5, /^the member must be an object$/],
        ['add', 6, /^uids\.0\.value must be an opaque id/],
        ['add', 7, /^uids\.0\.value must be an opaque id .* not a phone number$/],
        ['add', 8, /^uids\.0\.value must be a SHA-256 hash/],
        ['add', 9, /^uids\.0\.type must be one of rampid, .*, uid2, /],
        ['add', 10, /^uids\.0\.value is required$/],
        ['add', 11, /^uids must be a list of at most 10 ids$/],
        ['remove', 0, /^the member must have externalId, hashedEmail, hashedPhone or uids$/],
      ].map(([of, index, reason]) => ({
        audienceId: 'crm',
        list: of,
        index,
        reason: expect.stringMatching(reason as RegExp),
      })),
    });
    expect((await storedMembers('crm')).map(({ external_id }) => external_id)).toEqual(['crm-4']);
    // Personal data in the log is encrypted; this reads the decrypted events.
    const log = JSON.stringify(await service.eventsOfAccount(account));
    for (const raw of ['jane@example.com', '2065551234', '206-555-1234']) {
      expect([answer.text, JSON.stringify(task), log].join()).not.toContain(raw);
      expect(await tablesWith(raw)).toEqual([]);
    }
  });

  it('fails the audience if its own members are invalid, with or without an id', async () => {
    await done(await sync([{ audienceId: 'kept', name: 'Kept', add: [member(1)] }]));
    const task = await ended(
      await sync([
        { audienceId: 'kept', name: '', add: [member(2)] },
        { audienceId: 'new', add: [member(3)] },
        { name: 'Which one?', add: [member(4)] },
        'nonsense',
        { audienceId: 'list', add: member(5) },
      ]),
    );
    expect(task.status).toBe('completed');
    const because = (name: string) => expect.stringMatching(new RegExp(`^${name}\\b.`));
    expect(task.response).toEqual({
      audiences: [
        { audienceId: 'kept', action: 'failed', index: 0, error: because('name') },
        { audienceId: 'new', action: 'created' },
        { audienceId: null, action: 'failed', index: 2, error: because('audienceId') },
        { audienceId: null, action: 'failed', index: 3, error: expect.any(String) },
        { audienceId: 'list', action: 'failed', index: 4, error: because('add') },
      ],
    });
    expect(Object.fromEntries(await sizes())).toEqual({ kept: 1, new: 1 });
  });

  it('fails the audience if its JSON has another form', async () => {
    const texts = [
      '{"audienceId":"odd","add":[{"externalId":"crm-1","hashedEmail":"\\u0000"}]}',
      '{"audienceId":"large","add":[{"externalId":"crm-1","age":1e999}]}',
      JSON.stringify({ audienceId: 'new', add: [member(1)] }),
    ];
    const task = await ended(
      await account.api.post<AcceptedSync>(
        `/advertisers/${advertiserId}/audiences/sync`,
        `{"audiences":[${texts.join()}]}`,
      ),
    );
    const failed = (index: number, what: string) => ({
      audienceId: null,
      action: 'failed',
      index,
      error: `The item must not hold ${what}`,
    });
    expect(task).toMatchObject({
      status: 'completed',
      response: {
        audiences: [
          failed(0, 'text with U+0000'),
          failed(1, 'a number that is too large'),
          { audienceId: 'new', action: 'created' },
        ],
      },
    });
    expect(await sizes()).toEqual([['new', 1]]);
  });

  it('fails the audience if every member is invalid, and the task if there is no other audience', async () => {
    const task = await ended(await sync([{ audienceId: 'raw', add: [{ hashedEmail: 'jane@example.com' }] }]));
    expect(task).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^raw: None of its members is valid\. add\.0: hashedEmail must be/),
      response: { audiences: [{ audienceId: 'raw', action: 'failed', index: 0, membersFailed: 1 }] },
    });
    expect(await sizes()).toEqual([]);
    expect((await ended(await sync([{ name: 'Which one?' }]))).error).toMatch(/^audiences\.0: audienceId/);
  });

  it('is counted; at most the first 500 failed members are listed', async () => {
    const add = [member(0), ...Array.from({ length: 3_000 }, () => ({ hashedEmail: 'x'.repeat(100) }))];
    const task = await ended(
      await sync([
        { audienceId: 'a', add },
        { audienceId: 'b', add },
      ]),
    );
    expect(task.response.audiences).toEqual(
      ['a', 'b'].map((audienceId) => ({ audienceId, action: 'created', membersFailed: 3_000 })),
    );
    expect(task.response.failedMembers).toHaveLength(500);
  });

  it('fails in the same way when the sync is repeated with its key', async () => {
    const key = { 'Idempotency-Key': randomUUID() };
    const send = () => sync([{ audienceId: 'crm', add: [member(1), {}] }, { name: 'B' }], {}, key);
    const [first, again] = [await send(), await send()];
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect((await ended(again)).response).toMatchObject({
      audiences: [{ membersFailed: 1 }, { index: 1, action: 'failed' }],
      failedMembers: [{ audienceId: 'crm', list: 'add', index: 1 }],
    });
    expect(await eventsOf('TaskAccepted')).toHaveLength(1);
  });
});

describe('a task', () => {
  it.each(['nonsense', '00000000-0000-4000-8000-000000000000', '%F0%9F%98%80'])(
    'with the id %s is 404',
    async (id) => {
      expect(refusalOf(await account.api.get(`/tasks/${id}`))).toEqual(notFound());
    },
  );
});
