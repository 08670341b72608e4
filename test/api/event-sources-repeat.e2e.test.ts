import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { createLog } from '../../app/log.ts';
import { createFailingAppends, everyAppendOf } from '../support/failing-appends.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/**
 * A sync of event sources is many appends. If the process ends before or after any of them, a repeat with the same
 * key completes the sync and returns the answer of an uninterrupted one.
 */

const { wrap, failFrom, heal } = createFailingAppends();

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { store: wrap });
  account = await service.openAccount();
});
afterAll(() => service.stop());

const path = (id: number): string => `/advertisers/${id}/event-sources`;
const body = (id: number, event_sources: readonly object[], delete_missing: boolean) => ({
  account: { account_id: String(id) },
  event_sources,
  delete_missing,
});

const given = async (): Promise<number> => {
  const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  const sources = ['same', 'changed', 'gone-1', 'gone-2'].map((event_source_id) => ({ event_source_id }));
  expect((await account.api.post(`${path(id)}/sync`, body(id, sources, false))).status).toBe(200);
  return id;
};

const wanted = [
  { event_source_id: 'new-1' },
  { event_source_id: 'same' },
  { event_source_id: 'changed', name: 'Changed' },
  { event_source_id: 'new-2' },
];
const answered = [
  ['new-1', 'created'],
  ['same', 'unchanged'],
  ['changed', 'updated'],
  ['new-2', 'created'],
  ['gone-1', 'deleted'],
  ['gone-2', 'deleted'],
];
/** The plan, two created, one updated, two archived. */
const APPENDS = 6;

const run = async (id: number, key: string) => {
  const answer = await account.api.post<{
    event_sources: readonly { event_source_id: string; action: string }[];
  }>(`${path(id)}/sync`, body(id, wanted, true), { 'Idempotency-Key': key });
  return {
    status: answer.status,
    actions:
      answer.status === 200
        ? answer.body.data.event_sources.map(({ event_source_id, action }) => [event_source_id, action])
        : [],
  };
};

const historyOf = async (id: number): Promise<readonly string[]> =>
  (await service.eventsOfAccount(account))
    .filter(({ type, data }) => type === 'ResourceSyncPlanned' && data['advertiserId'] === id)
    .map(({ type }) => type);

it.each(everyAppendOf(APPENDS))(
  'a repeat completes the sync when appends fail from number %s on, %s that one is stored',
  async (n, how) => {
    const id = await given();
    const key = randomUUID();
    const eventsBefore = (await service.eventsOfAccount(account)).length;
    failFrom(n, how);
    expect((await run(id, key)).status).toBe(503);
    await heal();
    expect(await run(id, key)).toEqual({ status: 200, actions: answered });
    expect((await service.eventsOfAccount(account)).length - eventsBefore).toBe(APPENDS);
    expect(await historyOf(id)).toEqual(['ResourceSyncPlanned']);
    const listed = await account.api.get<{ eventSources: readonly { eventSourceId: string }[] }>(path(id));
    expect(listed.body.data.eventSources.map(({ eventSourceId }) => eventSourceId).sort()).toEqual([
      'changed',
      'new-1',
      'new-2',
      'same',
    ]);
  },
);

it('a repeat completes a planned sync even if the advertiser was archived since', async () => {
  const id = await given();
  const key = randomUUID();
  failFrom(3, 'after');
  expect((await run(id, key)).status).toBe(503);
  await heal();
  expect((await account.api.delete(`/advertisers/${id}`)).status).toBe(204);
  expect(await run(id, key)).toEqual({ status: 200, actions: answered });
});

it('a repeat is refused if the advertiser was archived before the plan was stored', async () => {
  const id = await given();
  const key = randomUUID();
  failFrom(1, 'before');
  expect((await run(id, key)).status).toBe(503);
  await heal();
  expect((await account.api.delete(`/advertisers/${id}`)).status).toBe(204);
  const before = await service.store.head();
  expect((await run(id, key)).status).toBe(409);
  expect(await service.store.head()).toBe(before);
});

it('twenty concurrent requests with one key have one effect and one answer', async () => {
  const id = await given();
  const key = randomUUID();
  const before = (await service.eventsOfAccount(account)).length;
  const answers = await Promise.all(Array.from({ length: 20 }, () => run(id, key)));
  const done = answers.filter(({ status }) => status === 200);
  expect(done.length).toBeGreaterThan(0);
  for (const answer of done) expect(answer.actions).toEqual(answered);
  for (const { status } of answers) expect([200, 409]).toContain(status);
  expect((await service.eventsOfAccount(account)).length - before).toBe(APPENDS);
});
