import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { createLog } from '../../app/log.ts';
import { createFailingAppends, everyAppendOf } from '../support/failing-appends.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/**
 * A sync of audiences is many appends: its plan, members, audiences and task. If the process ends after any of
 * them, a repeat with the same key completes the sync once.
 */

const { wrap, failFrom, heal } = createFailingAppends();

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { store: wrap });
  account = await service.openAccount();
});
afterAll(() => service.stop());

const members = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => ({
    externalId: `crm-${from + n}`,
    hashedEmail: (from + n).toString(16).padStart(64, '0'),
  }));

const given = async (): Promise<number> => {
  const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  const audiences = ['kept', 'gone'].map((audienceId) => ({ audienceId, add: members(0, 10) }));
  expect((await account.api.post(`/advertisers/${id}/audiences/sync`, { audiences })).status).toBe(202);
  return id;
};

/** Members of the new audience: several events, which a store accepts in one append or in several. */
const LARGE = 1_500;
const run = (id: number, key: string) =>
  account.api.post<{ taskId: string }>(
    `/advertisers/${id}/audiences/sync`,
    {
      audiences: [
        { audienceId: 'kept', add: [...members(8, 12), { externalId: 'wrong' }], remove: members(0, 2) },
        { audienceId: 'new', add: members(0, LARGE) },
        { audienceId: 'wrong', name: '' },
      ],
      deleteMissing: true,
    },
    { 'Idempotency-Key': key },
  );

/** The plan, two batches, two audiences, one archived, the task. On some stores a batch is several appends. */
const APPENDS = 7;

const effectOf = async (id: number, taskId: string) => {
  const task = await account.api.get<{
    task: { status: string; response: object };
  }>(`/tasks/${taskId}`);
  const list = await account.api.get<{
    audiences: readonly { audienceId: string; uploadedCount: number }[];
  }>(`/advertisers/${id}/audiences`);
  return {
    status: task.body.data.task.status,
    response: task.body.data.task.response,
    sizes: Object.fromEntries(
      list.body.data.audiences.map(({ audienceId, uploadedCount }) => [audienceId, uploadedCount]),
    ),
  };
};

const expected = {
  status: 'completed',
  response: {
    audiences: [
      { audienceId: 'kept', action: 'updated', membersFailed: 1 },
      { audienceId: 'new', action: 'created' },
      { audienceId: 'wrong', action: 'failed', index: 2, error: expect.stringContaining('name') },
      { audienceId: 'gone', action: 'deleted' },
    ],
    failedMembers: [{ audienceId: 'kept', list: 'add', index: 4, reason: expect.any(String) }],
  },
  sizes: { kept: 10, new: LARGE },
};

it.each(everyAppendOf(APPENDS))(
  'a repeat completes the sync when appends fail from number %s on, %s that one is stored',
  async (n, how) => {
    const id = await given();
    const key = randomUUID();
    const before = (await service.eventsOfAccount(account)).length;
    failFrom(n, how);
    expect((await run(id, key)).status).toBe(503);
    await heal();
    const answer = await run(id, key);
    expect(answer.status).toBe(202);
    expect(await effectOf(id, answer.body.data.taskId)).toEqual(expected);
    // The plan, batches of 1,500 members, three audiences, the task.
    const parts = 1 + LARGE / 1_500;
    expect((await service.eventsOfAccount(account)).length - before).toBe(1 + parts + 3 + 1);
    expect((await service.pool.query('select from audience_batches')).rowCount).toBe(0);
  },
);
