import { expect, it } from '@jest/globals';
import { taskResource, type TaskAccepted } from '../../domain/tasks/resource.ts';

const at = '2026-01-01T00:00:00.000Z';
const identity = { taskId: '00000000-0000-4000-8000-000000000001', customerId: 7, advertiserId: 5 };

type Audiences = Extract<TaskAccepted, { taskType: 'audience_sync' }>['response']['audiences'];
const synced = (audiences: Audiences, isDone = true) =>
  taskResource({ ...identity, taskType: 'audience_sync', response: { audiences } }, at, isDone);
const refused = (audienceId: string) => ({ audienceId, action: 'failed', error: 'Limit reached.' }) as const;
const created = (audienceId: string) => ({ audienceId, action: 'created' }) as const;

it('a sync without any success has failed and names the reason', () => {
  expect(synced([refused('a')])).toMatchObject({
    status: 'failed',
    error: 'a: Limit reached.',
    response: { audiences: [refused('a')] },
    retryAfterSeconds: null,
  });
  const { error } = synced([refused('a'), refused('b')]);
  expect(error).toBe('None of 2 audiences was synced. a: Limit reached.');
});

it('a sync with a success, or without audiences, is completed', () => {
  for (const audiences of [[], [created('a')], [refused('a'), created('b')]]) {
    expect(synced(audiences)).toMatchObject({ status: 'completed', error: null, response: { audiences } });
  }
});

it('has no result before completion', () => {
  expect(synced([refused('a')], false)).toMatchObject({ status: 'working', error: null, response: null });
});

it('a submission of a creative is completed, regardless of reviews', () => {
  const sellers = [{ sellerId: 1, status: 'rejected' as const }];
  const task = { ...identity, taskType: 'creative_sync', creativeId: 'c', response: { sellers } } as const;
  expect(taskResource(task, at, true)).toMatchObject({ status: 'completed', error: null });
});
