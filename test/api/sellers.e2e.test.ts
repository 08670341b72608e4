import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { CampaignResource } from '../../domain/campaigns/resource.ts';
import type { CreativeDetail } from '../../domain/creatives/creative-detail.ts';
import type { CreativeResource } from '../../domain/creatives/resource.ts';
import type { SellerSubmission } from '../../domain/creatives/seller-submission.ts';
import type { SellerStatus } from '../../domain/creatives/seller-reviews.ts';
import type { SellerResource } from '../../domain/sellers/resource.ts';
import { launchedCreatives } from '../../app/lookups/launched-creatives.ts';
import { listLaunchedCreatives } from '../../command/workers/sellers/list-launched.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { apiOf, conflict, invalid, notFound, refusalOf, type Api } from '../support/api-client.ts';
import { operate, type PrintedValue } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { png } from '../support/sample-media.ts';
import { until } from '../support/until.ts';
import { upload } from '../support/uploads.ts';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const api = (): TestAccount['api'] => account.api;

type OperatorOptions = Readonly<Record<string, string>>;
const operator = async (
  command: string,
  words: readonly string[],
  given: OperatorOptions,
): Promise<unknown> => (await said(command, words, given))[0]?.value;
const said = (
  command: string,
  words: readonly string[],
  given: OperatorOptions = {},
): Promise<readonly PrintedValue[]> => {
  const options = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
  return operate([...command.split(' '), ...words, ...options], async () => service.installation);
};
const newAdvertiser = async (more: object = { sandbox: true }): Promise<number> =>
  (await api().post<AdvertiserResource>('/advertisers', { name: 'Acme', ...more })).body.data.id;
const newCampaign = async (advertiserId: number): Promise<string> =>
  (await api().post<CampaignResource>('/campaigns', { advertiserId, name: 'Spring' })).body.data.id;
const ready = { formatKind: 'display_tag', copy: { tag: '<script></script>' } };
const newCreative = async (campaignId: string, body: object = ready): Promise<CreativeResource> =>
  (await api().post<CreativeResource>(`/campaigns/${campaignId}/creatives/create`, body)).body.data;
const newSandboxCreative = async (body?: object): Promise<{ campaignId: string; id: string }> => {
  const campaignId = await newCampaign(await newAdvertiser());
  return { campaignId, id: (await newCreative(campaignId, body)).id };
};
const submit = (id: string, sellerIds: readonly unknown[], headers = {}) =>
  api().post<{ sellerStatuses: SellerStatus[]; taskId: string }>(
    `/creatives/${id}/submit`,
    { sellerIds },
    headers,
  );
const submitTo = async (id: string, sellerIds: readonly number[]): Promise<void> => {
  expect((await submit(id, sellerIds)).status).toBe(202);
};
const review = (id: string, sellerId: number, body: object) =>
  api().put<SellerStatus>(`/creatives/${id}/sellers/${sellerId}/review`, body);
const detail = async (id: string): Promise<CreativeDetail> =>
  (await api().get<CreativeDetail>(`/creatives/${id}/detail`)).body.data;
const statuses = async (id: string): Promise<unknown> =>
  (await detail(id)).sellerStatuses.map(({ seller, status }) => [seller.sellerId, status]);
const list = (query = '') => api().get<SellerResource[]>(`/sellers${query}`);

describe('the directory', () => {
  it("lists the program's sellers, page by page", async () => {
    const all = await list();
    expect(all.body.data).toEqual([
      { sellerId: 1, name: 'Sandbox Web', channels: ['display', 'olv', 'social', 'search'] },
      { sellerId: 2, name: 'Sandbox TV', channels: ['ctv', 'linear_tv', 'olv'] },
      { sellerId: 3, name: 'Sandbox Audio', channels: ['radio', 'streaming_audio', 'podcast'] },
    ]);
    expect(all.body.meta.pagination).toEqual({ skip: 0, take: 50, total: 3, hasMore: false });
    const page = await list('?skip=1&take=1');
    expect(page.body.data).toEqual([all.body.data[1]]);
    expect(page.body.meta.pagination).toEqual({ skip: 1, take: 1, total: 3, hasMore: true });
    expect(refusalOf(await list('?take=201'))).toEqual(invalid('take'));
  });

  it('lets an operator add, change, retire and reopen sellers', async () => {
    const logo = 'https://news.example.com/logo.png';
    const added = await operator('sellers add', [], {
      name: 'News',
      channels: 'print,display',
      'logo-url': logo,
    });
    const seller = { sellerId: 1_001, name: 'News', logoUrl: logo, channels: ['print', 'display'] };
    expect(added).toEqual({ ...seller, retired: false });
    // Reads wait for the account's later writes, and so for the seller, which was added before them.
    const { id } = await newSandboxCreative();
    expect((await list()).body.data.at(-1)).toEqual(seller);
    const submitted = await submit(id, [1_001]);
    expect(submitted.body.data.sellerStatuses[0]?.seller).toEqual({
      sellerId: 1_001,
      name: 'News',
      logoUrl: logo,
    });

    await operator('sellers change', ['1001'], { name: 'Newspapers', channels: 'print' });
    await operator('sellers retire', ['1001'], {});
    await newAdvertiser();
    expect((await list()).body.meta.pagination.total).toBe(3);
    expect((await detail(id)).sellerStatuses[0]?.seller.name).toBe('Newspapers');
    expect(refusalOf(await submit(id, [1, 1_001]))).toEqual(notFound('sellerIds.1'));
    await operator('sellers reopen', ['1001'], {});
    expect((await submit(id, [1_001])).status).toBe(202);
    await operator('sellers retire', ['1001'], {});
  });

  it("refuses an operator's mistakes with their reason", async () => {
    const add = (given: OperatorOptions) => operator('sellers add', [], given);
    await expect(add({ channels: 'print' })).rejects.toThrow('name');
    await expect(add({ name: 'X', channels: 'paper' })).rejects.toThrow('--channels must be one of');
    for (const url of ['http://x.example.com/', 'https:x.example.com']) {
      await expect(add({ name: 'X', 'logo-url': url })).rejects.toThrow('--logo-url must be a URL');
    }
    await expect(add({ name: 'sandbox web' })).rejects.toThrow('Seller 1 has this name');
    await expect(operator('sellers change', ['x'], {})).rejects.toThrow(
      "'x' is invalid for argument 'SELLER'",
    );
    await expect(operator('sellers change', ['999'], { name: 'X' })).rejects.toThrow('No such seller');
    await expect(operator('sellers sell', [], {})).rejects.toThrow("unknown command 'sell'");
  });
});

describe('submit', () => {
  it('sends a creative to sellers; its task names them', async () => {
    const { id } = await newSandboxCreative();
    const key = { 'Idempotency-Key': 'submitted-once-and-repeated' };
    const answer = await submit(id, [2, 1], key);
    expect(answer.status).toBe(202);
    const { revision, updatedAt, sellerStatuses } = await detail(id);
    expect(revision).toBe(2);
    expect(sellerStatuses).toEqual([
      { seller: { sellerId: 1, name: 'Sandbox Web' }, status: 'processing', syncedAt: updatedAt },
      { seller: { sellerId: 2, name: 'Sandbox TV' }, status: 'processing', syncedAt: updatedAt },
    ]);
    const { taskId } = answer.body.data;
    expect(answer.body.data).toEqual({ sellerStatuses, taskId });
    expect((await api().get(`/tasks/${taskId}`)).body.data).toMatchObject({
      task: {
        taskId,
        taskType: 'creative_sync',
        status: 'completed',
        resourceType: 'CREATIVE',
        resourceId: id,
        response: {
          sellers: [
            { sellerId: 1, status: 'processing' },
            { sellerId: 2, status: 'processing' },
          ],
        },
      },
    });
    expect((await submit(id, [2, 1], key)).text).toBe(answer.text);
    expect((await submit(id, [1, 3])).body.data.sellerStatuses.map(({ seller }) => seller.sellerId)).toEqual([
      1, 3,
    ]);
    expect((await detail(id)).revision).toBe(3);
  });

  it('refuses invalid submissions', async () => {
    const { id, campaignId } = await newSandboxCreative();
    expect(refusalOf(await submit(id, []))).toEqual(invalid('sellerIds'));
    expect(refusalOf(await submit(id, [1, 1]))).toEqual(invalid('sellerIds'));
    expect(refusalOf(await submit(id, ['1']))).toEqual(invalid('sellerIds.0'));
    expect(refusalOf(await submit(id, [1, 4]))).toEqual(notFound('sellerIds.1'));
    expect(refusalOf(await submit('cre_0', [1]))).toEqual(notFound());
    const draft = await newCreative(campaignId, { formatKind: 'image' });
    expect(refusalOf(await submit(draft.id, [1]))).toEqual(conflict());
    await submitTo(id, [1]);
    expect((await api().delete(`/campaigns/${campaignId}/creatives/${id}`)).status).toBe(204);
    expect(await statuses(id)).toEqual([[1, 'archived']]);
    expect(refusalOf(await submit(id, [1]))).toEqual(conflict());
    expect(refusalOf(await review(id, 1, { status: 'approved' }))).toEqual(conflict());
  });
});

describe('reviews', () => {
  it('of a sandbox are entered by the account, step by step', async () => {
    const { id } = await newSandboxCreative();
    await submitTo(id, [1, 2]);
    expect((await review(id, 1, { status: 'pending_review' })).body.data.status).toBe('pending_review');
    const approved = await review(id, 1, { status: 'approved', expectedRevision: 2 });
    expect([approved.status, approved.body.data]).toEqual([200, (await detail(id)).sellerStatuses[0]]);
    const rejected = await review(id, 2, { status: 'rejected', rejectionReason: 'Too loud' });
    expect(rejected.body.data).toMatchObject({ status: 'rejected', rejectionReason: 'Too loud' });
    expect(await statuses(id)).toEqual([
      [1, 'approved'],
      [2, 'rejected'],
    ]);
    const illegal = await review(id, 1, { status: 'pending_review' });
    expect(refusalOf(illegal)).toEqual(conflict('status'));
    expect(illegal.body.error?.details).toEqual({
      status: 'approved',
      wanted: ['rejected', 'suspended', 'archived'],
    });
    expect((await review(id, 1, { status: 'approved' })).status).toBe(200);
    expect((await detail(id)).revision).toBe(5);
  });

  it('are refused with the invalid member', async () => {
    const { id } = await newSandboxCreative();
    await submitTo(id, [1]);
    const reasonOf = (body: object) => review(id, 1, body).then(refusalOf);
    expect(await reasonOf({ status: 'rejected' })).toEqual(invalid('rejectionReason'));
    expect(await reasonOf({ status: 'approved', rejectionReason: 'x' })).toEqual(invalid('rejectionReason'));
    expect(await reasonOf({ status: 'rejected', rejectionReason: 'x'.repeat(501) })).toEqual(
      invalid('rejectionReason'),
    );
    expect(await reasonOf({ status: 'fine' })).toEqual(invalid('status'));
    expect(refusalOf(await review(id, 2, { status: 'approved' }))).toEqual(notFound());
    expect(refusalOf(await review('cre_0', 1, { status: 'approved' }))).toEqual(notFound());
  });

  it('restart with new content, and never approve unseen content', async () => {
    const { id, campaignId } = await newSandboxCreative();
    const change = (body: object) => api().put(`/campaigns/${campaignId}/creatives/${id}`, body);
    await submitTo(id, [1]);
    await review(id, 1, { status: 'approved' });
    await change({ name: 'Renamed', role: 'evergreen' });
    expect(await statuses(id)).toEqual([[1, 'approved']]);
    const looked = await detail(id);
    await change({ copy: { tag: '<b></b>' } });
    expect(await statuses(id)).toEqual([[1, 'processing']]);
    const late = await review(id, 1, { status: 'approved', expectedRevision: looked.revision });
    expect(refusalOf(late)).toEqual(conflict('expectedRevision'));
    expect((await review(id, 1, { status: 'approved', expectedRevision: looked.revision + 1 })).status).toBe(
      200,
    );
    const copy = await api().post<CreativeResource>(`/campaigns/${campaignId}/creatives/${id}/duplicate`);
    expect(await statuses(copy.body.data.id)).toEqual([]);
  });

  it('of a real advertiser are entered by the operator for the sellers', async () => {
    const campaignId = await newCampaign(await newAdvertiser({}));
    const { id } = await newCreative(campaignId);
    await submitTo(id, [1]);
    const refused = await review(id, 1, { status: 'approved' });
    expect([...refusalOf(refused), refused.body.error?.message]).toEqual([
      403,
      'FORBIDDEN',
      undefined,
      expect.stringContaining('sandbox: true'),
    ]);
    const enter = (given: OperatorOptions, words = [String(account.customerId), id, '1']) =>
      operator('creatives review', words, given);
    expect(await enter({ status: 'rejected', reason: 'Too loud', revision: '2' })).toMatchObject({
      seller: { sellerId: 1 },
      status: 'rejected',
    });
    expect((await detail(id)).sellerStatuses[0]).toMatchObject({ rejectionReason: 'Too loud' });
    await expect(enter({ status: 'approved', revision: '1' })).rejects.toThrow('has changed');
    await expect(enter({ status: 'rejected' })).rejects.toThrow('--reason is needed');
    await expect(enter({ status: 'approved' })).rejects.toThrow('--revision is required');
    const { customerId } = await service.openAccount();
    const elsewhere = enter({ status: 'approved', revision: '2' }, [String(customerId), id, '1']);
    await expect(elsewhere).rejects.toThrow('No such creative');
  });
});

describe("a seller's key", () => {
  interface SellersAccount {
    readonly customerId: number;
    readonly apiKey: string;
    readonly api: Api;
  }
  const openFor = async (seller: string): Promise<SellersAccount> => {
    const given = { name: 'Desk', seller };
    const opened = (await operator('accounts create', [], given)) as SellersAccount;
    return { ...opened, api: apiOf(service.baseUrl, { Authorization: `Bearer ${opened.apiKey}` }) };
  };
  const decide = (
    seller: Pick<SellersAccount, 'api'>,
    id: string,
    sellerId: number,
    body: object,
    key = {},
  ) => seller.api.put<SellerStatus>(`/creatives/${id}/sellers/${sellerId}/review`, body, key);
  const approved = { status: 'approved', expectedRevision: 2 };

  it('reviews submissions to that seller from any account', async () => {
    const [web, tv] = [await openFor('1'), await openFor('2')];
    const key = { 'Idempotency-Key': 'the-same-key-of-two-sellers' };
    for (const owner of [account, await service.openAccount()]) {
      account = owner;
      const { id } = await newCreative(await newCampaign(await newAdvertiser({})));
      await submitTo(id, [1, 2]);
      // Immediately after the submission, which the seller's account does not wait for.
      const answer = await decide(web, id, 1, approved);
      expect([answer.status, answer.body.data]).toEqual([200, (await detail(id)).sellerStatuses[0]]);
      const reason = { status: 'rejected', rejectionReason: 'Too loud' };
      expect((await decide(tv, id, 2, reason)).body.data).toMatchObject(reason);
      const [last] = (await service.eventsOfAccount(owner)).slice(-1);
      expect(last?.metadata.actor).toMatch(/^api-key:/);
      expect(refusalOf(await decide(web, id, 1, { status: 'pending_review' }))).toEqual(conflict('status'));
      expect(refusalOf(await decide(web, id, 1, { status: 'rejected' }))).toEqual(invalid('rejectionReason'));
    }
    const { id } = await newSandboxCreative();
    await submitTo(id, [1, 2]);
    // The owner may have changed the content since the seller read it.
    const blind = await decide(web, id, 1, { status: 'approved' });
    expect([...refusalOf(blind), blind.body.error?.message]).toEqual([
      ...invalid('expectedRevision'),
      expect.stringContaining('revision of the creative that you have reviewed'),
    ]);
    const [first, second] = [await decide(web, id, 1, approved, key), await decide(tv, id, 2, approved, key)];
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect((await decide(web, id, 1, approved, key)).text).toBe(first.text);
    expect(await statuses(id)).toEqual([
      [1, 'approved'],
      [2, 'approved'],
    ]);
  });

  it('lists the submissions to that seller, page by page, and no others', async () => {
    const listed = async (seller: Pick<SellersAccount, 'api'>, query = '', sellerId = 2) => {
      const path = `/sellers/${sellerId}/submissions${query}`;
      return seller.api.get<{ submissions: SellerSubmission[]; nextCursor?: string }>(path);
    };
    const desk = await openFor('2');
    const before = (await listed(desk)).body.data.submissions.length;
    const own = await newSandboxCreative({ ...ready, name: 'Not submitted', role: 'reference' });
    const stranger = await service.openAccount();
    account = stranger;
    const other = await newSandboxCreative();
    await submitTo(other.id, [1, 2]);
    account = await service.openAccount();
    const third = await newSandboxCreative();
    await submitTo(third.id, [1]);
    // Immediately after the submissions of other accounts, which the seller's account does not wait for.
    const { submissions } = (await listed(desk)).body.data;
    expect(submissions.length).toBe(before + 1);
    const found = submissions.find(({ creativeId }) => creativeId === other.id);
    expect(found).toEqual({
      creativeId: other.id,
      sellerId: 2,
      status: 'processing',
      syncedAt: expect.any(String),
      revision: 2,
      state: 'ready',
      formatKind: 'display_tag',
      formatLabel: 'Display tag',
      slots: [],
      copy: ready.copy,
      trackers: {},
      carouselCards: [],
      assets: [],
    });
    for (const hidden of [own.id, third.id])
      expect(submissions.map((one) => one.creativeId)).not.toContain(hidden);

    // Its members are enough to decide.
    const { revision = 0 } = found ?? {};
    await decide(desk, other.id, 2, { status: 'approved', expectedRevision: revision });
    const ids = async (query: string) =>
      (await listed(desk, query)).body.data.submissions.map(({ creativeId }) => creativeId);
    expect(await ids('?status=approved')).toContain(other.id);
    expect(await ids('?status=processing')).not.toContain(other.id);

    const walked: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { data }: { data: { submissions: SellerSubmission[]; nextCursor?: string } } = (
        await listed(desk, `?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
      ).body;
      walked.push(...data.submissions.map(({ creativeId }) => creativeId));
      cursor = data.nextCursor;
    }
    expect(walked).toEqual(submissions.map(({ creativeId }) => creativeId));

    const elsewhere = [await listed(desk, '', 1), await listed(desk, '', 999)];
    expect(elsewhere.map(refusalOf)).toEqual([notFound(), notFound()]);
    expect(elsewhere[0]?.text).toBe(elsewhere[1]?.text);
    expect(refusalOf(await listed(desk, '?status=fine'))).toEqual(invalid('status'));
    expect(refusalOf(await listed(desk, '?cursor=x'))).toEqual(invalid('cursor'));
    expect(refusalOf(await listed(desk, '?limit=51'))).toEqual(invalid('limit'));
    expect(refusalOf(await listed(account))).toEqual([403, 'FORBIDDEN', undefined]);
  });

  it("shows the assets of a submission for review, without the account's names for them", async () => {
    const desk = await openFor('3');
    const advertiserId = await newAdvertiser();
    const { assetId } = await upload(
      api(),
      advertiserId,
      { name: 'Outbids the others', mimeType: 'image/png' },
      png(300, 250),
    );
    const slots = [{ slotId: 'main', kind: 'asset', assetId }];
    const { id } = await newCreative(await newCampaign(advertiserId), {
      name: 'Outbids the others, too',
      formatKind: 'image',
      slots,
    });
    await submitTo(id, [3]);
    const listed = await desk.api.get<{ submissions: SellerSubmission[] }>('/sellers/3/submissions');
    const { assets } = listed.body.data.submissions.find(({ creativeId }) => creativeId === id) ?? {};
    expect(assets).toEqual([
      {
        id: assetId,
        mediaKind: 'image',
        mimeType: 'image/png',
        url: expect.any(String),
        width: 300,
        height: 250,
        bytes: png(300, 250).length,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    expect(listed.text).not.toContain('Outbids');
    const [asset] = assets ?? [];
    expect((await fetch(asset?.url ?? '')).status).toBe(200);
  });

  it('ends when it is revoked or its account is disabled', async () => {
    const seller = await openFor('1');
    const words = [String(seller.customerId)];
    const second = (await operator('keys create', words, { name: 'Second' })) as { id: string; key: string };
    const other = { api: apiOf(service.baseUrl, { Authorization: `Bearer ${second.key}` }) };
    const { id } = await newSandboxCreative();
    await submitTo(id, [1]);
    expect((await decide(other, id, 1, { status: 'pending_review' })).status).toBe(200);
    const listed = await said('keys list', words);
    const ofReviews = expect.objectContaining({ scopes: expect.arrayContaining(['exchange:review']) });
    expect(listed.map(({ value }) => value)).toEqual([ofReviews, ofReviews]);
    await said('keys revoke', [...words, second.id]);
    expect((await decide(other, id, 1, approved)).status).toBe(401);
    await said('accounts disable', words);
    expect((await decide(seller, id, 1, approved)).status).toBe(401);
    expect(await statuses(id)).toEqual([[1, 'pending_review']]);
  });

  it('is issued for an existing seller, and for seller users only', async () => {
    await expect(openFor('999')).rejects.toThrow('No such seller');
    await expect(openFor('x')).rejects.toThrow("option '--seller <SELLER>' argument 'x' is invalid");
    const { customerId } = await openFor('3');
    const add = (role: string, whose: number) =>
      operator('users create', [String(whose)], { name: 'Mo', role });
    await expect(add('admin', customerId)).rejects.toThrow("This is a seller's account");
    await expect(add('seller', account.customerId)).rejects.toThrow('Give another');
    expect(await add('seller', customerId)).toMatchObject({ userId: `${customerId}-2` });
  });
});

describe('a launched campaign', () => {
  const settled = async (id: string, count: number): Promise<unknown> => {
    for (let tries = 0; (await detail(id)).sellerStatuses.length < count && tries < 500; tries++)
      await sleep(20);
    return statuses(id);
  };

  it('submits ready creatives to its sellers, also later ones', async () => {
    const advertiserId = await newAdvertiser();
    const campaignId = await newCampaign(advertiserId);
    const [first, draft] = [
      await newCreative(campaignId),
      await newCreative(campaignId, { formatKind: 'image' }),
    ];
    expect((await api().post(`/campaigns/${campaignId}/execute`)).body.data).toMatchObject({
      phase: 'active',
    });
    const allSellers = [
      [1, 'processing'],
      [2, 'processing'],
      [3, 'processing'],
    ];
    expect(await settled(first.id, 3)).toEqual(allSellers);

    const later = await newCreative(campaignId, { ...ready, name: 'Later' });
    await api().put(`/campaigns/${campaignId}/creatives/${draft.id}`, ready);
    const library = `/advertisers/${advertiserId}/creatives`;
    const { id } = (await api().post<CreativeResource>(`${library}/create`, { ...ready, name: 'Shelf' })).body
      .data;
    expect(await statuses(id)).toEqual([]);
    await api().post(`${library}/${id}/campaigns`, { campaignId });
    for (const creativeId of [later.id, draft.id, id])
      expect(await settled(creativeId, 3)).toEqual(allSellers);
  });

  it("is submitted after a read model's gap is closed", async () => {
    account = await service.openAccount();
    const query = async (text: string) => (await service.pool.query(text, [account.customerId])).rowCount;
    const listed = () =>
      query(
        `select from work_list where kind in ('submission', 'launched-campaign', 'changed-creative') and customer_id = $1`,
      );
    await query(`insert into parked_streams
      (projection, stream, customer_id, position, revision, event_type, error, attempts)
      values ('creatives', 'creative-x', $1, '0', 0, 'CreativeCreated', 'test', 1)`);
    const campaignId = await newCampaign(await newAdvertiser());
    const { id } = await newCreative(campaignId);
    expect(await statuses(id)).toEqual([]);
    // Simulates that this creative is missing from the read model.
    await until(async () => (await listed()) === 0);
    expect(await query('update creative_campaigns set archived = true where customer_id = $1')).toBe(1);
    await api().post(`/campaigns/${campaignId}/execute`);
    await until(async () => (await listed()) === 1);
    await listLaunchedCreatives(service.pool, launchedCreatives);
    expect([await listed(), await statuses(id)]).toEqual([1, []]);
    await query('update creative_campaigns set archived = false where customer_id = $1');
    await query('delete from parked_streams where customer_id = $1');
    expect(await settled(id, 3)).toHaveLength(3);
  });

  it('is submitted only to sellers of its channels, and to each once', async () => {
    const campaignId = await newCampaign(
      await newAdvertiser({ sandbox: true, channels: ['podcast', 'ctv'] }),
    );
    const { id } = await newCreative(campaignId);
    await submitTo(id, [3]);
    await review(id, 3, { status: 'rejected', rejectionReason: 'Too loud' });
    await api().post(`/campaigns/${campaignId}/execute`);
    expect(await settled(id, 2)).toEqual([
      [2, 'processing'],
      [3, 'rejected'],
    ]);
  });
});
