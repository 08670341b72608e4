import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findEndedFlights } from '../../app/lookups/overdue.ts';
import { createEndedFlights } from '../../command/campaigns/complete-campaigns.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { CampaignResource } from '../../domain/campaigns/resource.ts';
import { conflict, invalid, notFound, refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const api = (): TestAccount['api'] => account.api;

const advertiser = async (more: object = {}): Promise<number> =>
  (await api().post<AdvertiserResource>('/advertisers', { name: 'Acme', ...more })).body.data.id;
const create = (advertiserId: number, more: object = {}) =>
  api().post<CampaignResource>('/campaigns', { advertiserId, name: 'Spring', ...more });
const campaign = async (more: object = {}): Promise<CampaignResource> =>
  (await create(await advertiser(), more)).body.data;
const get = (id: string) => api().get<CampaignResource>(`/campaigns/${id}`);
const put = (id: string, body: object) => api().put<CampaignResource>(`/campaigns/${id}`, body);
const step = (id: string, action: string) => api().post<CampaignResource>(`/campaigns/${id}/${action}`);

describe('create', () => {
  it("returns a draft with the given members, in UTC, in the advertiser's currency", async () => {
    const advertiserId = await advertiser({ primaryCurrency: 'EUR' });
    const answer = await create(advertiserId, {
      flight: { startAt: '2030-01-01T00:00:00+01:00', endAt: '2030-02-01T00:00:00Z' },
      budget: { total: 1_000.5 },
      brief: 'Grüße 👋',
      unknown: true,
    });
    expect(answer.status).toBe(201);
    const { data } = answer.body;
    expect(data).toEqual({
      id: expect.stringMatching(/^cmp_[0-9a-f]{32}$/) as unknown,
      advertiserId,
      name: 'Spring',
      phase: 'draft',
      flight: { startAt: '2029-12-31T23:00:00.000Z', endAt: '2030-02-01T00:00:00.000Z' },
      budget: { total: 1_000.5, currency: 'EUR' },
      brief: 'Grüße 👋',
      revision: 1,
      createdAt: data.updatedAt,
      updatedAt: data.updatedAt,
    });
    expect((await get(data.id)).body.data).toEqual(data);
  });

  it("locks the advertiser's currency with the first campaign", async () => {
    const id = await advertiser();
    const locked = async () =>
      (await api().get<AdvertiserResource>(`/advertisers/${id}`)).body.data.currencyLocked;
    expect(refusalOf(await create(id, { budget: { total: 1, currency: 'EUR' } }))).toEqual(
      invalid('budget.currency'),
    );
    expect(await locked()).toBe(false);
    expect((await create(id)).status).toBe(201);
    expect(await locked()).toBe(true);
    const change = await api().put(`/advertisers/${id}`, { primaryCurrency: 'EUR' });
    expect(refusalOf(change)).toEqual(conflict('primaryCurrency'));
    expect((await api().put(`/advertisers/${id}`, { primaryCurrency: 'USD' })).status).toBe(200);
  });

  it.each<[string, object]>([
    ['advertiserId', { advertiserId: '1' }],
    ['advertiserId', { advertiserId: 2_147_483_648 }],
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(256) }],
    ['flight.endAt', { flight: { startAt: '2030-01-01T00:00:00Z', endAt: '2030-01-01T00:00:00Z' } }],
    ['flight.endAt', { flight: { startAt: '2030-01-01T00:00:00Z' } }],
    ['flight.startAt', { flight: { startAt: 'soon', endAt: '2030-01-01T00:00:00Z' } }],
    ['budget.total', { budget: { total: -1 } }],
    ['budget.currency', { budget: { total: 1, currency: 'eur' } }],
    ['brief', { brief: 'x'.repeat(5_001) }],
  ])('refuses an invalid %s with 400', async (field, wrong) => {
    const answer = await api().post('/campaigns', { advertiserId: 1, name: 'x', ...wrong });
    expect(refusalOf(answer)).toEqual(invalid(field));
  });

  it('is 404 for a missing advertiser and 409 for an archived one', async () => {
    expect(refusalOf(await create(2_147_483_647))).toEqual(notFound('advertiserId'));
    const id = await advertiser();
    await api().delete(`/advertisers/${id}`);
    expect(refusalOf(await create(id))).toEqual(conflict());
  });

  it('creates one campaign for twenty requests with one key', async () => {
    const advertiserId = await advertiser();
    const headers = { 'Idempotency-Key': `campaign-of-one-key-${advertiserId}` };
    const body = { advertiserId, name: 'One' };
    await Promise.all(Array.from({ length: 20 }, () => api().post('/campaigns', body, headers)));
    const list = await api().get(`/campaigns?advertiserId=${advertiserId}`);
    expect(list.body.meta.pagination.total).toBe(1);
  });
});

describe('update', () => {
  it('keeps members that are left out, removes null ones, and counts revisions', async () => {
    const { id } = await campaign({ brief: 'x', budget: { total: 5 } });
    const renamed = await put(id, { name: 'Summer', expectedRevision: 1 });
    expect(renamed.body.data).toMatchObject({ name: 'Summer', brief: 'x', revision: 2 });
    const cleared = await put(id, { brief: null, budget: null });
    expect(cleared.body.data).not.toHaveProperty('brief');
    expect(cleared.body.data).not.toHaveProperty('budget');
    expect((await put(id, {})).body.data).toEqual(cleared.body.data);
    expect((await get(id)).body.data).toEqual(cleared.body.data);
  });

  it('refuses a stale revision with the current one', async () => {
    const { id } = await campaign();
    await put(id, { name: 'Summer' });
    const stale = await put(id, { name: 'Autumn', expectedRevision: 1 });
    expect(refusalOf(stale)).toEqual(conflict('expectedRevision'));
    expect(stale.body.error?.details).toEqual({ expectedRevision: 1, currentRevision: 2 });
  });

  it('accepts one of twenty updates of the same revision', async () => {
    const { id } = await campaign();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => put(id, { name: `N ${n}`, expectedRevision: 1 })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(19).fill(409),
    ]);
    expect((await get(id)).body.data.revision).toBe(2);
  });

  it.each([
    ['phase', { phase: 'active' }],
    ['advertiserId', { advertiserId: 2_147_483_647 }],
    ['id', { id: 'cmp_other' }],
    ['budget.currency', { budget: { total: 1, currency: 'EUR' } }],
    ['expectedRevision', { expectedRevision: 0 }],
    ['name', { name: null }],
  ])('refuses %s with 400', async (field, wrong) => {
    const { id } = await campaign();
    expect(refusalOf(await put(id, wrong))).toEqual(invalid(field));
  });

  it('accepts its own answer as input', async () => {
    const made = await campaign({ budget: { total: 1 } });
    expect((await put(made.id, made)).body.data).toEqual(made);
  });
});

describe('transitions', () => {
  it('launch, pause, reactivate and archive; repeating one changes nothing', async () => {
    const { id } = await campaign();
    const seen: unknown[] = [];
    for (const action of ['execute', 'execute', 'pause', 'pause', 'reactivate', 'reactivate']) {
      const { status, body } = await step(id, action);
      seen.push([status, body.data.phase, body.data.revision]);
      expect((await get(id)).body.data).toEqual(body.data);
    }
    expect(seen).toEqual([
      [200, 'active', 2],
      [200, 'active', 2],
      [200, 'paused', 3],
      [200, 'paused', 3],
      [200, 'active', 4],
      [200, 'active', 4],
    ]);
    for (let round = 0; round < 2; round += 1) {
      expect((await api().delete(`/campaigns/${id}`)).status).toBe(204);
    }
    expect((await get(id)).body.data).toMatchObject({ phase: 'archived', revision: 5 });
    for (const action of ['execute', 'pause', 'reactivate']) {
      expect(refusalOf(await step(id, action))).toEqual(conflict());
    }
    expect(refusalOf(await put(id, { name: 'x' }))).toEqual(conflict());
  });

  it('refuse to pause or reactivate a draft, and to launch a paused campaign', async () => {
    const { id } = await campaign();
    expect(refusalOf(await step(id, 'pause'))).toEqual(conflict());
    expect(refusalOf(await step(id, 'reactivate'))).toEqual(conflict());
    await step(id, 'execute');
    await step(id, 'pause');
    expect(refusalOf(await step(id, 'execute'))).toEqual(conflict());
  });

  it('are refused below an archived advertiser, whose campaigns stay readable', async () => {
    const { id, advertiserId } = await campaign();
    await api().delete(`/advertisers/${advertiserId}`);
    for (const answer of [
      await put(id, {}),
      await step(id, 'execute'),
      await api().delete(`/campaigns/${id}`),
    ]) {
      expect(refusalOf(answer)).toEqual(conflict());
    }
    expect((await get(id)).status).toBe(200);
    await api().post(`/advertisers/${advertiserId}/restore`);
    expect((await step(id, 'execute')).status).toBe(200);
  });

  it('a flight that has ended completes its active campaign, and refuses to launch a draft', async () => {
    const flight = { startAt: '2020-01-01T00:00:00Z', endAt: '2020-02-01T00:00:00Z' };
    const over = await campaign({ flight });
    expect(refusalOf(await step(over.id, 'execute'))).toEqual(conflict('flight.endAt'));
    const { id } = await campaign();
    await step(id, 'execute');
    await put(id, { flight });
    expect((await get(id)).body.data.phase).toBe('active');
    const { store, pool } = service;
    const ended = createEndedFlights({ store, clock: { now: () => Date.now() } }, findEndedFlights(pool));
    await Promise.all([ended.purge(10), ended.purge(10)]);
    expect((await get(id)).body.data.phase).toBe('completed');
    expect((await service.eventsOf(`campaign-${account.customerId}-${uuidOf(id)}`)).length).toBe(4);
    expect(refusalOf(await step(id, 'reactivate'))).toEqual(conflict());
    expect((await api().delete(`/campaigns/${id}`)).status).toBe(204);
    expect((await get(over.id)).body.data.phase).toBe('draft');
  });
});

const uuidOf = (id: string): string => id.replace(/^cmp_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

describe('the list', () => {
  it('returns the expected page for every filter, from both ends', async () => {
    const mine = await service.openAccount('Lists');
    const ids: number[] = [];
    for (const name of ['A', 'B']) {
      ids.push((await mine.api.post<AdvertiserResource>('/advertisers', { name })).body.data.id);
    }
    for (let n = 0; n < 11; n += 1) {
      const body = { advertiserId: ids[n % 2], name: `C ${n}` };
      const { id } = (await mine.api.post<CampaignResource>('/campaigns', body)).body.data;
      if (n % 3 === 1) await mine.api.post(`/campaigns/${id}/execute`);
      if (n % 5 === 4) await mine.api.delete(`/campaigns/${id}`);
    }
    const phases = ['draft', 'active', 'paused', 'completed', 'archived'];
    const everything: CampaignResource[] = [];
    for (const phase of phases) {
      everything.push(...(await mine.api.get<CampaignResource[]>(`/campaigns?phase=${phase}`)).body.data);
    }
    everything.sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? 1 : -1));
    expect(everything).toHaveLength(11);
    for (const advertiserId of [undefined, ...ids, 2_147_483_647]) {
      for (const phase of [undefined, ...phases]) {
        const wanted = everything.filter(
          (one) =>
            (advertiserId === undefined || one.advertiserId === advertiserId) &&
            (phase === undefined ? one.phase !== 'archived' : one.phase === phase),
        );
        for (const skip of [0, 1, Math.max(0, wanted.length - 1), wanted.length + 1]) {
          const query = [
            `take=2&skip=${skip}`,
            advertiserId === undefined ? '' : `&advertiserId=${advertiserId}`,
            phase === undefined ? '' : `&phase=${phase}`,
          ].join('');
          const { data, meta } = (await mine.api.get<CampaignResource[]>(`/campaigns?${query}`)).body;
          expect({ query, data, total: meta.pagination.total }).toEqual({
            query,
            data: wanted.slice(skip, skip + 2),
            total: wanted.length,
          });
        }
      }
    }
  });

  it('refuses unknown filter values', async () => {
    expect(refusalOf(await api().get('/campaigns?phase=gone'))).toEqual(invalid('phase'));
    expect(refusalOf(await api().get('/campaigns?advertiserId=x'))).toEqual(invalid('advertiserId'));
    expect(refusalOf(await api().get('/campaigns?take=201'))).toEqual(invalid('take'));
  });

  it('is 404 for a malformed campaign id', async () => {
    for (const id of ['1', 'cmp_', `cmp_${'0'.repeat(32)}`, 'x'.repeat(255)]) {
      expect((await get(id)).status).toBe(404);
      expect((await put(id, { name: 'x' })).status).toBe(404);
      expect((await step(id, 'execute')).status).toBe(404);
    }
  });
});
