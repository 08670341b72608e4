import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { untilDefinite } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { amount } from '../support/amount.ts';

/** A read after a write sees that write. */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const PAIRS = amount(8, 200);
const PAGES_MIN = 5;
const read = async (id: number): Promise<AdvertiserResource> =>
  (await account.api.get<AdvertiserResource>(`/advertisers/${id}`)).body.data;

describe('a read after a write', () => {
  it(`sees each of ${PAIRS} creates`, async () => {
    for (let n = 0; n < PAIRS; n++) {
      const { data } = (await account.api.post<AdvertiserResource>('/advertisers', { name: `N ${n}` })).body;
      const [detail, list] = await Promise.all([
        read(data.id),
        account.api.get<AdvertiserResource[]>('/advertisers?take=1'),
      ]);
      expect(detail).toEqual(data);
      expect(list.body.data).toEqual([data]);
      expect(list.body.meta.pagination.total).toBe(n + 1);
    }
  });

  it(`sees each of ${PAIRS} updates`, async () => {
    const { api } = await service.openAccount();
    const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Start' })).body.data;
    for (let n = 0; n < PAIRS; n++) {
      const { data } = (await api.put<AdvertiserResource>(`/advertisers/${id}`, { name: `N ${n}` })).body;
      expect((await api.get(`/advertisers/${id}`)).body.data).toEqual(data);
      expect((await api.get(`/advertisers?name=N%20${n}`)).body.data).toEqual([data]);
    }
  });

  it('sees archive and restore in every list', async () => {
    const { api } = await service.openAccount();
    const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'There and back' })).body.data;
    const totals = async (): Promise<readonly number[]> =>
      Promise.all(
        ['', '?status=ARCHIVED', '?status=ALL', '?name=there'].map(
          async (query) => (await api.get(`/advertisers${query}`)).body.meta.pagination.total,
        ),
      );
    for (let n = 0; n < 20; n++) {
      await api.delete(`/advertisers/${id}`);
      expect(await totals()).toEqual([0, 1, 1, 0]);
      await api.post(`/advertisers/${id}/restore`);
      expect(await totals()).toEqual([1, 0, 1, 1]);
    }
  });

  it('sees the write while 20 other accounts write', async () => {
    const writers = await Promise.all(Array.from({ length: 20 }, () => service.openAccount()));
    await Promise.all(
      writers.map(async ({ api }) => {
        const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Start' })).body.data;
        for (let n = 0; n < 10; n++) {
          const name = `N ${n}`;
          await untilDefinite(() => api.put(`/advertisers/${id}`, { name }));
          const seen = await untilDefinite(() => api.get<AdvertiserResource>(`/advertisers/${id}`));
          expect(seen.body.data.name).toBe(`N ${n}`);
        }
      }),
    );
  });

  it('returns a page and a total that agree while other requests of the account write', async () => {
    const { api } = await service.openAccount();
    let writing = true;
    let pages = 0;
    const writer = (async () => {
      // More where reads are slow; a page holds at most 200.
      for (let n = 0; n < 60 || (pages <= PAGES_MIN && n < 190); n++)
        await api.post('/advertisers', { name: `N ${n}` });
      writing = false;
    })();
    let seen = 0;
    while (writing) {
      const { data, meta } = (await api.get<AdvertiserResource[]>('/advertisers?take=200')).body;
      expect(data).toHaveLength(meta.pagination.total);
      expect(data.length).toBeGreaterThanOrEqual(seen);
      seen = data.length;
      pages += 1;
    }
    await writer;
    expect(pages).toBeGreaterThan(PAGES_MIN);
  });
});

describe('while the projector is stopped', () => {
  let api: TestAccount['api'];
  let standing: RunningService;
  beforeAll(async () => {
    standing = await startRunningService({ ROLES: 'api' });
    ({ api } = await standing.openAccount());
  });
  afterAll(() => standing.stop());

  it('the detail is folded from the log, byte for byte the same; a list is 503, never outdated', async () => {
    const created = await api.post<AdvertiserResource>('/advertisers', {
      name: 'Acme',
      description: 'x',
      brand: 'acme.com',
      frequencyCaps: [{ max_impressions: 1, window: { interval: 1 } }],
    });
    const { id } = created.body.data;
    const updated = await api.put(`/advertisers/${id}`, { description: null });
    const [detail, absent, list] = await Promise.all([
      api.get(`/advertisers/${id}`),
      api.get('/advertisers/2147483647'),
      api.get('/advertisers'),
    ]);
    expect([detail.status, detail.text]).toEqual([200, updated.text]);
    expect(absent.status).toBe(404);
    expect([list.status, list.headers.get('retry-after'), list.body.data]).toEqual([503, '1', null]);
    await api.delete(`/advertisers/${id}`);
    expect((await api.get<AdvertiserResource>(`/advertisers/${id}`)).body.data.status).toBe('ARCHIVED');
  });
});
