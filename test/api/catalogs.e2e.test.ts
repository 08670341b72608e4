import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readCatalogItems } from '../../command/catalogs/catalog-content.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { conflict, invalid, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { hostileUrls } from '../support/hostile-urls.ts';
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

interface SyncResult {
  readonly catalogs: readonly {
    catalog_id: string;
    action: string;
    errors?: readonly { message: string }[];
  }[];
}
interface CatalogRow {
  readonly catalogs: readonly {
    catalogId: string;
    contentHash: string;
    itemCount: number;
    version: number;
  }[];
  readonly total: number;
}
const sync = (catalogs: unknown, more: object = {}, headers = {}): Promise<ApiAnswer<SyncResult>> =>
  account.api.post(
    `/advertisers/${advertiserId}/catalogs/sync`,
    { account: { account_id: String(advertiserId) }, catalogs, ...more },
    headers,
  );
const list = async (query = ''): Promise<CatalogRow> =>
  (await account.api.get<CatalogRow>(`/advertisers/${advertiserId}/catalogs${query}`)).body.data;
const actions = ({ body }: ApiAnswer<SyncResult>) =>
  body.data.catalogs.map(({ catalog_id, action }) => `${catalog_id} ${action}`);
const products = (catalog_id: string, items: readonly object[]) => ({ catalog_id, type: 'product', items });
const events = async (type: string) =>
  (await service.eventsOfAccount(account)).filter((event) => event.type === type);
const itemsOf = async (key: string, contentHash: string): Promise<readonly unknown[]> => {
  const catalogId = resourceIdOf('catalog', account.customerId, advertiserId, key);
  const items: unknown[] = [];
  const content = { customerId: account.customerId, catalogId, contentHash };
  for await (const part of readCatalogItems(service.store, content)) items.push(...part);
  return items;
};

describe('sync of inline items', () => {
  it('creates version 1, leaves it unchanged, then creates version 2', async () => {
    const shoes = [
      { sku: 'a', price: 1 },
      { sku: 'b', tags: ['x', null] },
    ];
    const first = await sync([products('shoes', shoes)]);
    expect([first.status, first.body.data]).toEqual([
      200,
      { catalogs: [{ catalog_id: 'shoes', action: 'created', item_count: 2, version: 1 }] },
    ]);
    // The order of an item's members has no meaning; that of the items has.
    const same = [
      { price: 1, sku: 'a' },
      { tags: ['x', null], sku: 'b' },
    ];
    expect(actions(await sync([products('shoes', same)]))).toEqual(['shoes unchanged']);
    expect(await events('CatalogItemsStored')).toHaveLength(1);
    const changed = await sync([products('shoes', shoes.toReversed())]);
    expect(changed.body.data.catalogs).toEqual([
      { catalog_id: 'shoes', action: 'updated', item_count: 2, version: 2 },
    ]);
    const { catalogs, total } = await list();
    expect([catalogs, total]).toEqual([
      [
        {
          catalogId: 'shoes',
          type: 'product',
          name: 'shoes',
          status: 'ACTIVE',
          version: 2,
          itemCount: 2,
          contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
          conversionEvents: [],
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
      ],
      1,
    ]);
    expect(await itemsOf('shoes', catalogs[0]?.contentHash ?? '')).toEqual(shoes.toReversed());
  });

  it('splits many items into events of bounded size, in order', async () => {
    const items = Array.from({ length: 5_000 }, (_, n) => ({ sku: `sku-${n}`, title: 'ä'.repeat(200) }));
    expect(actions(await sync([products('many', items)]))).toEqual(['many created']);
    const parts = await events('CatalogItemsStored');
    const bytes = parts.map(({ data }) => Buffer.byteLength(JSON.stringify(data)));
    expect(parts.length).toBeGreaterThan(5);
    expect(Math.max(...bytes)).toBeLessThan(900_000);
    const { catalogs } = await list();
    expect(await itemsOf('many', catalogs[0]?.contentHash ?? '')).toEqual(items);
  });

  it('restores a deleted catalog as its next version', async () => {
    await sync([products('a', [{ n: 1 }]), products('b', [{ n: 1 }])]);
    expect(actions(await sync([products('b', [{ n: 1 }])], { delete_missing: true }))).toEqual([
      'b unchanged',
      'a deleted',
    ]);
    expect((await list()).total).toBe(1);
    expect(actions(await sync([products('a', [{ n: 1 }])]))).toEqual(['a created']);
    const versions = (await list()).catalogs.map(({ catalogId, version }) => [catalogId, version]);
    expect(versions.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });
});

describe('sync of a feed', () => {
  it('stores the address', async () => {
    const url = 'https://feeds.example.com/products.xml?x=1';
    const feed = {
      catalog_id: 'feed',
      type: 'product',
      url,
      feed_format: 'shopify',
      update_frequency: 'daily',
    };
    expect(actions(await sync([feed]))).toEqual(['feed created']);
    expect(actions(await sync([feed]))).toEqual(['feed unchanged']);
    expect((await list()).catalogs[0]).toMatchObject({
      url,
      feedFormat: 'shopify',
      updateFrequency: 'daily',
      itemCount: 0,
    });
  });

  it('refuses every form of an address that is not on the public internet', async () => {
    const urls = [
      ...hostileUrls(4_300),
      'https://user:secret@feeds.example.com/x',
      'https://feeds.internal/x',
      'https:example.com/x',
    ];
    for (let from = 0; from < urls.length; from += 50) {
      const some = urls.slice(from, from + 50);
      const answer = await sync(some.map((url, n) => ({ catalog_id: `feed-${n}`, type: 'product', url })));
      expect(actions(answer)).toEqual(some.map((_url, n) => `feed-${n} failed`));
      const messages = answer.body.data.catalogs.map(({ errors }) => errors?.[0]?.message);
      expect(messages.filter((message) => message?.startsWith('url must ') !== true)).toEqual([]);
      expect(answer.text).not.toMatch(/secret|user:pass/);
    }
    expect(await list()).toEqual({ catalogs: [], total: 0 });
  });
});

describe('invalid input', () => {
  it('in one catalog fails that catalog only', async () => {
    const answer = await sync([
      { catalog_id: 'both', type: 'product', items: [{}], url: 'https://feeds.example.com' },
      { catalog_id: 'neither', type: 'product' },
      { catalog_id: 'type', type: 'shoes', items: [{}] },
      { catalog_id: 'empty', type: 'product', items: [] },
      products('large', [{ text: 'x'.repeat(70_000) }]),
      products('ok', [{}]),
    ]);
    expect(actions(answer)).toEqual([
      'both failed',
      'neither failed',
      'type failed',
      'empty failed',
      'large failed',
      'ok created',
    ]);
  });

  it.each([
    ['no catalogs', { catalogs: [] }, 'catalogs'],
    ['one twice', { catalogs: [products('a', [{}]), products('a', [{}])] }, 'catalogs'],
    ['a dry run', { catalogs: [products('a', [{}])], dry_run: true }, 'dry_run'],
    [
      'another account',
      { catalogs: [products('a', [{}])], account: { account_id: '1' } },
      'account.account_id',
    ],
  ])('of the request is refused with 400 and appends no event: %s', async (_what, body, field) => {
    const answer = await account.api.post(`/advertisers/${advertiserId}/catalogs/sync`, body);
    expect(refusalOf(answer)).toEqual(invalid(field));
    expect(await events('CatalogPublished')).toEqual([]);
  });

  it('for an archived advertiser is 409, for an unknown one 404', async () => {
    await account.api.delete(`/advertisers/${advertiserId}`);
    expect(refusalOf(await sync([products('a', [{}])]))).toEqual(conflict());
    expect(
      (await account.api.post('/advertisers/2147483647/catalogs/sync', { catalogs: [products('a', [{}])] }))
        .status,
    ).toBe(404);
    expect((await account.api.get('/advertisers/2147483647/catalogs')).status).toBe(404);
  });
});

it('a repeated request with its key is answered byte for byte', async () => {
  const key = { 'Idempotency-Key': randomUUID() };
  const first = await sync([products('a', [{ n: 1 }])], {}, key);
  await sync([products('a', [{ n: 2 }])]);
  const again = await sync([products('a', [{ n: 1 }])], {}, key);
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
  expect((await list()).catalogs[0]?.version).toBe(2);
});

it('the list is paged and filtered by type', async () => {
  for (const n of [1, 2, 3]) await sync([products(`p${n}`, [{}])]);
  await sync([{ catalog_id: 'jobs', type: 'job', items: [{}] }]);
  const page = await list('?take=2&skip=2');
  expect([page.total, page.catalogs.map(({ catalogId }) => catalogId)]).toEqual([4, ['p2', 'p1']]);
  const jobs = await list('?type=job');
  expect([jobs.total, jobs.catalogs.map(({ catalogId }) => catalogId)]).toEqual([1, ['jobs']]);
  expect(refusalOf(await account.api.get(`/advertisers/${advertiserId}/catalogs?type=shoes`))).toEqual(
    invalid('type'),
  );
});
