import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { invalid, notFound, refusalOf, type Api, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Detail, archive and restore, and ids on every route. */

let service: RunningService;
let account: TestAccount;
let stranger: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  stranger = await service.openAccount();
});
afterAll(() => service.stop());

const createdBy = async ({ api }: TestAccount, members: object = {}): Promise<AdvertiserResource> =>
  (await api.post<AdvertiserResource>('/advertisers', { name: 'Acme', ...members })).body.data;
const history = async (id: number): Promise<readonly string[]> =>
  (await service.eventsOf(`advertiser-${account.customerId}-${id}`)).map(({ type }) => type);
const listed = async (id: number, query = ''): Promise<boolean> =>
  (await account.api.get<AdvertiserResource[]>(`/advertisers?take=200${query}`)).body.data.some(
    (one) => one.id === id,
  );

describe('archive', () => {
  it('is 204 without a body; the advertiser stays readable, but leaves the list', async () => {
    const { id, ...acme } = await createdBy(account, { brand: 'acme.com' });
    const answer = await account.api.delete(`/advertisers/${id}`);
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([204, '', null]);
    const { status, body } = await account.api.get(`/advertisers/${id}`);
    expect([status, body.data]).toEqual([
      200,
      { id, ...acme, status: 'ARCHIVED', updatedAt: expect.any(String) },
    ]);
    expect(await listed(id)).toBe(false);
    expect(await listed(id, '&status=ARCHIVED')).toBe(true);
  });

  it('is 204 again when repeated, with one event', async () => {
    const { id } = await createdBy(account);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => account.api.delete(`/advertisers/${id}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 204));
    expect((await account.api.delete(`/advertisers/${id}`)).status).toBe(204);
    expect(await history(id)).toEqual(['AdvertiserCreated', 'AdvertiserArchived']);
  });
});

describe('restore', () => {
  it('returns an archived advertiser unchanged', async () => {
    const acme = await createdBy(account, {
      frequencyCaps: [{ max_impressions: 1, window: { interval: 1 } }],
    });
    await account.api.delete(`/advertisers/${acme.id}`);
    const answer = await account.api.post<AdvertiserResource>(`/advertisers/${acme.id}/restore`);
    expect([answer.status, answer.body.data]).toEqual([200, { ...acme, updatedAt: expect.any(String) }]);
    expect((await account.api.get(`/advertisers/${acme.id}`)).body.data).toEqual(answer.body.data);
    expect(await listed(acme.id)).toBe(true);
    expect((await account.api.put(`/advertisers/${acme.id}`, { name: 'New' })).status).toBe(200);
    expect(await history(acme.id)).toEqual([
      'AdvertiserCreated',
      'AdvertiserArchived',
      'AdvertiserRestored',
      'AdvertiserUpdated',
    ]);
  });

  it('of an active or a missing advertiser is 404, with the same body', async () => {
    const { id } = await createdBy(account);
    const active = await account.api.post(`/advertisers/${id}/restore`);
    const absent = await account.api.post('/advertisers/2147483647/restore');
    expect(refusalOf(active)).toEqual(notFound());
    expect(absent.text).toBe(active.text);
    expect(await history(id)).toEqual(['AdvertiserCreated']);
  });

  it('appends one event each time: ten archives and restores are twenty events', async () => {
    const { id } = await createdBy(account);
    for (let n = 0; n < 10; n++) {
      expect((await account.api.delete(`/advertisers/${id}`)).status).toBe(204);
      expect((await account.api.post(`/advertisers/${id}/restore`, {})).status).toBe(200);
    }
    expect(await history(id)).toHaveLength(21);
  });
});

const routes: readonly (readonly [string, (api: Api, id: string) => Promise<ApiAnswer<unknown>>])[] = [
  ['GET /advertisers/{id}', (api, id) => api.get(`/advertisers/${id}`)],
  ['PUT /advertisers/{id}', (api, id) => api.put(`/advertisers/${id}`, { name: 'Taken over' })],
  ['DELETE /advertisers/{id}', (api, id) => api.delete(`/advertisers/${id}`)],
  ['POST /advertisers/{id}/restore', (api, id) => api.post(`/advertisers/${id}/restore`)],
];

describe.each(routes)('the id in %s', (_route, call) => {
  it.each([
    '0',
    '-1',
    '+1',
    '1.0',
    '1.5',
    '01',
    '0x10',
    '1e3',
    'abc',
    'NaN',
    'null',
    '%201',
    '1%20',
    '1%00',
    '%D9%A1',
    '2147483648',
    '4294967297',
    '99999999999999999999',
    '9'.repeat(400),
  ])('refuses %.20s with 404', async (id) => {
    expect(refusalOf(await call(account.api, id))).toEqual(invalid('id'));
  });

  it("answers a missing id and another account's id with the same bytes", async () => {
    const { id } = await createdBy(stranger);
    const archived = (await createdBy(stranger)).id;
    await stranger.api.delete(`/advertisers/${archived}`);
    const absent = await call(account.api, '2147483647');
    expect(refusalOf(absent)).toEqual(notFound());
    // Headers that differ between any two requests.
    const ofTheRequest = ['x-request-id', 'date', 'ratelimit-remaining', 'ratelimit-reset'];
    const headersOf = ({ headers }: ApiAnswer<unknown>): object =>
      Object.fromEntries([...headers].filter(([name]) => !ofTheRequest.includes(name)));
    for (const theirs of [id, archived]) {
      const answer = await call(account.api, String(theirs));
      expect([answer.status, answer.text, headersOf(answer)]).toEqual([404, absent.text, headersOf(absent)]);
    }
    expect((await stranger.api.get(`/advertisers/${id}`)).body.data).toMatchObject({
      name: 'Acme',
      status: 'ACTIVE',
    });
    expect((await stranger.api.get(`/advertisers/${archived}`)).body.data).toMatchObject({
      status: 'ARCHIVED',
    });
  });
});

describe('a list', () => {
  it("never contains another account's advertisers", async () => {
    await createdBy(stranger, { name: 'Only mine' });
    for (const query of ['?status=ALL&take=200', '?name=only%20mine', '?sandbox=false&status=ALL']) {
      const { text } = await account.api.get(`/advertisers${query}`);
      expect(text).not.toContain('Only mine');
    }
  });
});
