import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { invalid, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** GET /api/v2/buyer/advertisers (specification, endpoint 4). */

let service: RunningService;
let account: TestAccount;
/** Oldest first. Every fifth is archived, every third is a sandbox. */
let all: AdvertiserResource[];

const COUNT = 60;
const names = ['Straße 100%', 'a_b', 'axb', 'ÄRGER', "it's; drop", 'back\\slash', '100 percent'];

beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  const stranger = await service.openAccount();
  await stranger.api.post('/advertisers', { name: 'Straße of another account' });
  for (let n = 0; n < COUNT; n++) {
    await account.api.post('/advertisers', { name: names[n] ?? `Number ${n}`, sandbox: n % 3 === 0 });
  }
  const created = (await list('?take=200')).body.data.toReversed();
  for (const { id } of created.filter((_, n) => n % 5 === 4)) await account.api.delete(`/advertisers/${id}`);
  all = (await list('?take=200&status=ALL')).body.data.toReversed();
});
afterAll(() => service.stop());

const list = (query = ''): Promise<ApiAnswer<AdvertiserResource[]>> =>
  account.api.get(`/advertisers${query}`);
const idsOf = (advertisers: readonly AdvertiserResource[]): readonly number[] =>
  advertisers.map(({ id }) => id);
const newestFirst = (matches: (advertiser: AdvertiserResource) => boolean): readonly number[] =>
  idsOf(all.filter(matches).toReversed());
const active = ({ status }: AdvertiserResource): boolean => status === 'ACTIVE';

describe('the list', () => {
  it('contains active advertisers, newest first, 50 on a page', async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['data', 'error', 'meta']);
    expect(idsOf(body.data)).toEqual(newestFirst(active).slice(0, 50));
    expect(body.meta).toEqual({ pagination: { skip: 0, take: 50, total: 48, hasMore: false } });
    expect((await list('?status=ALL')).body.meta.pagination).toEqual({
      skip: 0,
      take: 50,
      total: 60,
      hasMore: true,
    });
  });

  it('contains the same members as the detail', async () => {
    const [newest] = (await list('?take=1')).body.data;
    expect((await account.api.get(`/advertisers/${newest?.id}`)).body.data).toEqual(newest);
  });

  it.each([
    ['ACTIVE', 48],
    ['ARCHIVED', 12],
    ['ALL', 60],
  ])('filters by status: %s', async (status, total) => {
    const { body } = await list(`?take=200&status=${status}`);
    expect(idsOf(body.data)).toEqual(newestFirst((one) => status === 'ALL' || one.status === status));
    expect(body.meta.pagination.total).toBe(total);
  });

  it.each(['active', 'DELETED', 'ACTIVE,ARCHIVED'])('refuses the status %s with 400', async (status) => {
    expect(refusalOf(await list(`?status=${status}`))).toEqual(invalid('status'));
  });

  it.each([true, false])('filters by sandbox: %s', async (sandbox) => {
    for (const status of ['ACTIVE', 'ARCHIVED', 'ALL']) {
      const { body } = await list(`?take=200&sandbox=${sandbox}&status=${status}`);
      const expected = newestFirst(
        (one) => one.sandbox === sandbox && (status === 'ALL' || one.status === status),
      );
      expect([idsOf(body.data), body.meta.pagination.total]).toEqual([expected, expected.length]);
    }
    expect(refusalOf(await list('?sandbox=1'))).toEqual(invalid('sandbox'));
  });

  it('of an account without advertisers is empty', async () => {
    const { api } = await service.openAccount();
    expect((await api.get('/advertisers')).text).toBe(
      '{"data":[],"error":null,"meta":{"pagination":{"skip":0,"take":50,"total":0,"hasMore":false}}}',
    );
  });
});

describe('the name filter', () => {
  it.each([
    ['number 1', 10],
    ['NUMBER 1', 10],
    ['%', 1],
    ['_', 1],
    ['a_b', 1],
    ['100', 2],
    ['straße', 1],
    ['ärger', 1],
    ["it's;", 1],
    ['\\', 1],
    ['no such', 0],
    ['number 1 ', 0],
  ])('finds %j in %i names, ignoring case', async (name, count) => {
    const { status, body } = await list(`?take=200&status=ALL&name=${encodeURIComponent(name)}`);
    expect(status).toBe(200);
    const expected = newestFirst((one) => one.name.toLowerCase().includes(name.toLowerCase()));
    expect(expected).toHaveLength(count);
    expect([idsOf(body.data), body.meta.pagination.total]).toEqual([expected, count]);
  });

  it('combines with the other filters and with pages', async () => {
    const expected = newestFirst((one) => active(one) && one.sandbox && one.name.startsWith('Number'));
    const { body } = await list('?name=number&sandbox=true&take=3&skip=2');
    expect(idsOf(body.data)).toEqual(expected.slice(2, 5));
    expect(body.meta.pagination).toEqual({ skip: 2, take: 3, total: expected.length, hasMore: true });
  });

  it('accepts 1 to 200 characters', async () => {
    expect((await list(`?name=${encodeURIComponent('😀'.repeat(200))}`)).status).toBe(200);
    expect(refusalOf(await list(`?name=${'a'.repeat(201)}`))).toEqual(invalid('name'));
    expect(refusalOf(await list('?name='))).toEqual(invalid('name'));
  });
});

describe('pages', () => {
  it.each([1, 7, 50, 59, 60, 61, 200])('of %i contain every advertiser once', async (take) => {
    const seen: number[] = [];
    for (let skip = 0, more = true; more; skip += take) {
      const { body } = await list(`?status=ALL&take=${take}&skip=${skip}`);
      seen.push(...idsOf(body.data));
      expect(body.meta.pagination).toMatchObject({ take, skip, total: 60 });
      more = body.meta.pagination.hasMore;
    }
    expect(seen).toEqual(newestFirst(() => true));
  });

  it('accept limit and offset for take and skip', async () => {
    const { text } = await list('?take=5&skip=3');
    expect((await list('?limit=5&offset=3')).text).toBe(text);
    expect((await list('?take=5&limit=5&skip=3&offset=3')).text).toBe(text);
    expect(refusalOf(await list('?take=5&limit=6'))).toEqual(invalid('limit'));
    expect(refusalOf(await list('?skip=5&offset=6'))).toEqual(invalid('offset'));
  });

  it.each([
    'take=0',
    'take=201',
    'take=-1',
    'take=1.5',
    'take=ten',
    'take=',
    'take=1&take=2',
    'take=9007199254740992',
    'limit=0',
    'limit=201',
    'skip=-1',
    'skip=9007199254740992',
    'offset=9007199254740992',
    'limit=9007199254740992',
    'skip=99999999999999999999',
    'skip=1e3',
    'offset=-1',
  ])('refuse %s with 400 instead of clamping it', async (query) => {
    const name = query.slice(0, query.indexOf('='));
    const answer = await list(`?${query}`);
    expect(refusalOf(answer)).toEqual(invalid(name));
    // An issue is listed once, under the name that the client sent. Some refusals have no list.
    const { issues } = (answer.body.error?.details ?? {}) as {
      issues?: readonly { readonly path: string }[];
    };
    expect(issues?.map(({ path }) => path) ?? [name]).toEqual([name]);
  });

  it('after the end are empty, up to the largest safe integer', async () => {
    for (const skip of [60, 2_147_483_648, 9_007_199_254_740_991]) {
      const { status, body } = await list(`?status=ALL&skip=${skip}`);
      expect([status, body.data]).toEqual([200, []]);
      expect(body.meta.pagination).toEqual({ skip, take: 50, total: 60, hasMore: false });
    }
  });

  it('ignore unknown parameters', async () => {
    const { text } = await list();
    expect((await list('?includeBrand=true&page=2&page=3&take[]=1&sort=')).text).toBe(text);
  });
});
