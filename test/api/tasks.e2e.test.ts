import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { createLog } from '../../app/log.ts';
import { notFound, refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** A task while the read models still apply its events. */

let open: () => void = () => undefined;
const gate = new Promise<void>((resolve) => {
  open = resolve;
});

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), {
    projection: (projection) =>
      projection.name === 'audiences'
        ? { ...projection, apply: (client, events) => gate.then(() => projection.apply(client, events)) }
        : projection,
  });
  account = await service.openAccount();
});
afterAll(() => service.stop());

it('a task is working until all its events are applied, and completed from then on', async () => {
  const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  const audiences = [{ audienceId: 'crm', add: [{ hashedEmail: 'a'.repeat(64) }] }];
  const accepted = await account.api.post<{ taskId: string }>(`/advertisers/${id}/audiences/sync`, {
    audiences,
  });
  expect(accepted.status).toBe(202);
  const { taskId } = accepted.body.data;
  const task = async () =>
    (await account.api.get<{ task: { createdAt: string } }>(`/tasks/${taskId}`)).body.data.task;

  const working = await task();
  expect(working).toMatchObject({ taskId, status: 'working', response: null, retryAfterSeconds: 1 });
  const list = await account.api.get(`/advertisers/${id}/audiences`);
  expect(refusalOf(list)).toEqual([503, 'SERVICE_UNAVAILABLE', undefined]);

  open();
  let now = await task();
  for (let tries = 0; !('status' in now && now.status === 'completed') && tries < 20; tries++)
    now = await task();
  expect(now).toEqual({
    ...working,
    status: 'completed',
    response: { audiences: [{ audienceId: 'crm', action: 'created' }] },
    retryAfterSeconds: null,
  });
});

it('a task is deleted after 30 days: 404, not working', async () => {
  const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  const sync = async (audienceId: string): Promise<string> => {
    const audiences = [{ audienceId }];
    const path = `/advertisers/${id}/audiences/sync`;
    return (await account.api.post<{ taskId: string }>(path, { audiences })).body.data.taskId;
  };
  const old = await sync('old');
  expect((await account.api.get(`/tasks/${old}`)).status).toBe(200);
  await service.pool.query(
    `update tasks set accepted_at = accepted_at - interval '31 days' where task_id = $1`,
    [old],
  );
  const next = await sync('next');
  expect((await account.api.get(`/tasks/${next}`)).status).toBe(200);
  expect(refusalOf(await account.api.get(`/tasks/${old}`))).toEqual(notFound());
});
