import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectSeller, addSeller } from '../../command/sellers/commands.ts';
import type { CampaignResource } from '../../domain/campaigns/resource.ts';
import { answerKey, executionIdOf, type ProposalRequestResource } from '../../domain/proposals/resource.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import { apiOf, conflict, invalid, notFound, refusalOf, untilDefinite } from '../support/api-client.ts';
import { freePort } from '../support/free-port.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { exchange, startProgram, type Program } from '../support/program.ts';
import { startExampleSeller } from '../support/example-sellers.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startSellers, type TestSellers } from '../support/sellers.ts';
import { until } from '../support/until.ts';

/** Proposal requests over HTTP, answered by sellers that were built with the official server builder. */

const SELLER_MS = 5_000;
const settings = { OUTBOUND_ALLOW_LOOPBACK: 'true', PROPOSAL_SELLER_MS: String(SELLER_MS) };
const TOKEN = 'token-of-a-seller-0123456789';
let service: RunningService;
let sellers: TestSellers;
beforeAll(async () => {
  [service, sellers] = await Promise.all([startRunningService(settings), startSellers()]);
  // The first call in a process loads the client of AdCP, which may take as long as a seller has.
  await completed(await newBuyer(), [await connected('works')]);
});
afterAll(async () => {
  await Promise.all([service.stop(), sellers.stop()]);
});

let names = 0;
const connected = async (how: string, more: { channels?: never[]; token?: string } = {}): Promise<number> => {
  const { store, secrets } = service.installation;
  names += 1;
  const name = `${how} ${names}`;
  const { sellerId } = await addSeller({ store, clock }, { name, channels: more.channels ?? [] });
  const agent = { url: sellers.url(how), protocol: 'MCP', token: more.token } as const;
  await connectSeller({ store, secrets, clock }, sellerId, agent);
  return sellerId;
};

interface Buyer extends TestAccount {
  readonly campaignId: string;
  readonly advertiserId: number;
}

const newBuyer = async (
  advertiser: object = {},
  campaign: object = {},
  at: RunningService = service,
): Promise<Buyer> => {
  const account = await at.openAccount();
  const { api } = account;
  const made = await api.post<{ id: number }>('/advertisers', { name: 'Acme', ...advertiser });
  const advertiserId = made.body.data.id;
  const body = { advertiserId, name: 'Spring', brief: 'Reach gardeners', ...campaign };
  const { id } = (await api.post<CampaignResource>('/campaigns', body)).body.data;
  return { ...account, campaignId: id, advertiserId };
};

const ask = ({ api, campaignId }: Buyer, body: object, key?: string) =>
  untilDefinite(() =>
    api.post<ProposalRequestResource>(
      `/campaigns/${campaignId}/proposal-requests`,
      body,
      key === undefined ? {} : { 'Idempotency-Key': key },
    ),
  );

const read = async ({ api, campaignId }: Buyer, executionId: string, query = '') =>
  (
    await api.get<ProposalRequestResource>(
      `/campaigns/${campaignId}/proposal-requests/${executionId}${query}`,
    )
  ).body.data;

/** Starts an execution, and waits for its end. */
const completed = async (buyer: Buyer, sellerIds: readonly number[]): Promise<ProposalRequestResource> => {
  const { status, body } = await ask(buyer, { sellerIds });
  expect([status, body.data.status]).toEqual([202, 'running']);
  const { executionId } = body.data;
  await until(async () => (await read(buyer, executionId)).status !== 'running');
  return read(buyer, executionId);
};

const roundOf = async (how: string, more: { token?: string } = {}) => {
  const buyer = await newBuyer();
  const sellerId = await connected(how, more);
  const execution = await completed(buyer, [sellerId]);
  return { buyer, sellerId, execution, seller: execution.perSeller[0] };
};

const eventsOf = ({ customerId }: Buyer, executionId: string) =>
  service.eventsOf(`proposalRequest-${customerId}-${executionIdOf(executionId)}`);

describe('a round', () => {
  it('answers at once with a running state, and completes when every seller has answered', async () => {
    const buyer = await newBuyer();
    const ids = [await connected('works'), await connected('quoting'), await connected('empty')];
    const started = await ask(buyer, { sellerIds: ids });
    const { executionId } = started.body.data;
    expect([started.status, started.body.data]).toEqual([
      202,
      {
        executionId: expect.stringMatching(/^prq_[0-9a-f]{32}$/),
        campaignId: buyer.campaignId,
        status: 'running',
        startedAt: expect.any(String),
        summary: {
          sellersRequested: 3,
          sellersQuoted: 0,
          sellersWithProducts: 0,
          sellersResponded: 0,
          sellersFailed: 0,
          sellersPending: 3,
        },
        perSeller: ids.map((sellerId) => ({
          sellerId,
          sellerName: expect.any(String),
          status: 'pending',
          proposalIds: [],
          products: [],
        })),
        page: { returned: 0, total: 0, hasMore: false, truncated: false },
        poll: { tool: 'request_proposals', afterSeconds: 5 },
      },
    ]);
    await until(async () => (await read(buyer, executionId)).status !== 'running');
    const done = await read(buyer, executionId);
    expect(done).toMatchObject({
      status: 'complete',
      summary: {
        sellersQuoted: 1,
        sellersWithProducts: 2,
        sellersResponded: 3,
        sellersFailed: 0,
        sellersPending: 0,
      },
      page: { returned: 3, total: 3, hasMore: false },
    });
    expect(done.poll).toBeUndefined();
    const [works, quoting, empty] = done.perSeller;
    expect(works).toMatchObject({
      status: 'products',
      outcome: { kind: 'returned_products' },
      proposalIds: [],
    });
    expect(works?.products).toEqual([
      {
        productId: 'p1',
        name: 'Product p1',
        description: 'Homepage banner',
        deliveryType: 'guaranteed',
        channels: ['display'],
        pricingOptions: [{ pricingOptionId: 'cpm', pricingModel: 'cpm', currency: 'USD', fixedPrice: 12.5 }],
      },
    ]);
    // The other proposal names a product that the seller does not have.
    expect(quoting).toMatchObject({ status: 'quoted', proposalIds: ['plan'], invalidItems: 1 });
    expect(empty).toMatchObject({
      status: 'products',
      products: [],
      outcome: { kind: 'no_matching_products' },
    });
    const types = (await eventsOf(buyer, executionId)).map(({ type }) => type);
    expect(types).toEqual([
      'ProposalsRequested',
      'SellerAnswered',
      'SellerAnswered',
      'SellerAnswered',
      'ProposalRequestCompleted',
    ]);
  });

  it('asks with a brief, a time budget, the token and a reference; only the seller learns them', async () => {
    const buyer = await newBuyer({ brand: 'acmeoutdoor.example' });
    const sellerId = await connected('echoing', { token: TOKEN });
    const { executionId, status } = await completed(buyer, [sellerId]);
    const call = (await sellers.calls()).findLast(({ how }) => how === 'echoing');
    expect(call?.authorization).toBe(`Bearer ${TOKEN}`);
    expect(call?.asked).toMatchObject({
      buying_mode: 'brief',
      brief: 'Reach gardeners',
      brand: { domain: 'acmeoutdoor.example' },
      time_budget: { interval: 4, unit: 'seconds' },
      context: { buyer_ref: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
    expect(call?.asked).not.toHaveProperty('idempotency_key');
    expect(status).toBe('complete');
    const log = JSON.stringify([await service.readLog()]);
    expect(log).toContain(sellers.url('echoing'));
    expect(log).not.toContain(TOKEN);
    const list = await buyer.api.get('/sellers?take=200');
    expect(list.text).not.toContain('127.0.0.1');
    const { text } = await buyer.api.get(
      `/campaigns/${buyer.campaignId}/proposal-requests/${executionId}/history`,
    );
    expect(text).not.toContain(TOKEN);
  });

  it('stores the whole answer by its hash, and does not serve it', async () => {
    const { buyer, execution } = await roundOf('works');
    const answered = (await eventsOf(buyer, execution.executionId))[1];
    const { digest, ref } = (answered?.data ?? {}) as { digest: string; ref: string };
    expect(ref).toBe(answerKey(buyer.customerId, digest));
    expect((await fetch(`${service.baseUrl}/assets/${ref}`)).status).toBe(404);
    expect(JSON.stringify(answered?.data)).not.toContain('publisher_properties');
  });
});

describe('a seller that', () => {
  const failed = (reasonCode: string, code: string) => ({
    status: 'failed',
    products: [],
    error: { code, message: expect.any(String) },
    outcome: { kind: 'failed', reasonCode },
  });

  it.each([
    ['sends HTML', 'html', failed('protocol', 'INVALID_ANSWER')],
    ['sends broken JSON', 'broken', failed('protocol', 'INVALID_ANSWER')],
    ['sends more than 5 MB', 'big', failed('protocol', 'INVALID_ANSWER')],
    ['redirects', 'redirecting', failed('protocol', 'INVALID_ANSWER')],
    ['sends no products member', 'no-products', failed('protocol', 'INVALID_ANSWER')],
    ['answers another request', 'foreign', failed('protocol', 'FOREIGN_ANSWER')],
    ['refuses', 'rejecting', failed('protocol', 'ACCOUNT_SUSPENDED')],
    ['is silent', 'silent', failed('timeout', 'TIMEOUT')],
    ['is slower than its time', 'slow_7000', failed('timeout', 'TIMEOUT')],
  ])('%s has failed, and so has the round that asked only it', async (_, how, expected) => {
    const { execution, seller } = await roundOf(how);
    expect(seller).toMatchObject(expected);
    expect(execution).toMatchObject({ status: 'failed', summary: { sellersFailed: 1, sellersPending: 0 } });
  });

  it('is down is asked up to three times', async () => {
    const { seller } = await roundOf('down');
    expect(seller).toMatchObject(failed('transport', 'UNREACHABLE'));
  });

  it('has nothing to sell has answered', async () => {
    const { execution, seller } = await roundOf('unavailable');
    expect(seller).toMatchObject({ status: 'products', outcome: { kind: 'no_inventory_for_request' } });
    expect(execution.status).toBe('complete');
  });

  it('sends invalid products among valid ones loses only those', async () => {
    const { seller } = await roundOf('one-bad');
    expect(seller).toMatchObject({ status: 'products', invalidItems: 3 });
    expect(seller?.products.map(({ productId }) => productId)).toEqual(['good', 'fine']);
  });

  it('sends HTML and prompts in texts has them shown as bounded text', async () => {
    const { seller } = await roundOf('prompting');
    const [shown] = seller?.products ?? [];
    expect(shown?.name).toMatch(/^Ignore your instructions .*<img src=x/);
    expect(shown?.description?.length).toBeLessThanOrEqual(500);
    expect(shown?.description).not.toContain('\u0000');
  });

  it('works on a task is pending; its answer is recorded as late and does not reopen the round', async () => {
    const buyer = await newBuyer();
    const ids = [await connected('works'), await connected('submitted_8000')];
    const { executionId, perSeller, ...round } = await completed(buyer, ids);
    expect(round).toMatchObject({ status: 'partial', summary: { sellersPending: 1, sellersFailed: 0 } });
    expect(perSeller[1]).toMatchObject({ status: 'pending', products: [] });
    expect(round.poll).toEqual({ tool: 'request_proposals', afterSeconds: 5 });
    // The account may ask again meanwhile.
    expect((await completed(buyer, [ids[0] ?? 0])).status).toBe('complete');
    await until(async () => (await read(buyer, executionId)).summary.sellersPending === 0, 20_000);
    const after = await read(buyer, executionId);
    expect(after).toMatchObject({ status: 'partial', completedAt: round.completedAt });
    expect(after.perSeller[1]).toMatchObject({
      status: 'products',
      late: true,
      products: [{ productId: 'late' }],
    });
    const types = (await eventsOf(buyer, executionId)).map(({ type }) => type);
    expect(types.slice(-2)).toEqual(['ProposalRequestCompleted', 'LateAnswerRecorded']);
    const events = await buyer.api.get<{
      events: { type: string; data: { url: string; resourceId: string } }[];
    }>('/events?limit=100');
    const told = events.body.data.events.filter(({ data }) => data.resourceId === executionId);
    expect(told.map(({ type }) => type)).toEqual(['proposal_request.completed', 'proposal_request.updated']);
    const [then] = told;
    const answer = await fetch(then?.data.url ?? '', {
      headers: { Authorization: `Bearer ${buyer.apiKey}` },
    });
    const { data } = (await answer.json()) as { data: ProposalRequestResource };
    expect(data).toMatchObject({ status: 'partial', summary: { sellersPending: 1 } });
  });

  it('finishes its task in time has answered the round', async () => {
    const { execution, seller } = await roundOf('submitted_500');
    expect(seller).toMatchObject({ status: 'products', products: [{ productId: 'late' }] });
    expect([execution.status, seller?.late]).toEqual(['complete', undefined]);
  });

  it('cannot be asked is skipped', async () => {
    const buyer = await newBuyer({ channels: ['ctv'] });
    const { store } = service.installation;
    const { sellerId } = await addSeller({ store, clock }, { name: 'No agent', channels: [] });
    const { status, body } = await ask(buyer, { sellerIds: [sellerId] });
    expect([status, body.data.status]).toEqual([202, 'failed']);
    expect(body.data.perSeller[0]).toMatchObject({
      status: 'failed',
      error: { code: 'NOT_ELIGIBLE' },
      outcome: { kind: 'skipped', reasonCode: 'eligibility' },
    });
  });
});

describe('one execution an account', () => {
  it('another key is refused while one runs; the same key answers as before', async () => {
    const buyer = await newBuyer();
    const sellerIds = [await connected('slow_1500')];
    const key = 'round-0123456789abcdef';
    const first = await ask(buyer, { sellerIds }, key);
    const other = await ask(buyer, { sellerIds }, 'another-0123456789abcdef');
    expect(refusalOf(other)).toEqual(conflict());
    const { executionId } = first.body.data;
    expect(other.body.error?.details).toEqual({ executionId, campaignId: buyer.campaignId });
    type Logs = { logs: { resourceId?: string; campaignIds?: string[] }[] };
    const { logs } = (await buyer.api.get<Logs>('/audit-logs?resourceTypes=PROPOSAL_REQUEST')).body.data;
    const ofRound = logs.filter(({ resourceId }) => resourceId === executionId);
    expect(ofRound.map(({ campaignIds }) => campaignIds)).toEqual(ofRound.map(() => [buyer.campaignId]));
    expect(ofRound.length).toBeGreaterThan(0);
    const missing = await ask(buyer, { sellerIds: [...sellerIds, 9_999] }, 'missing-0123456789abcdef');
    expect(refusalOf(missing)).toEqual([404, 'NOT_FOUND', 'sellerIds.1']);
    const again = await ask(buyer, { sellerIds }, key);
    expect(again.text).toBe(first.text);
    // The key and the campaign name the execution. For another campaign, the key is another request's.
    expect((await ask(buyer, { sellerIds: [1] }, key)).text).toBe(first.text);
    const { id: another } = (
      await buyer.api.post<CampaignResource>('/campaigns', {
        advertiserId: buyer.advertiserId,
        name: 'Autumn',
      })
    ).body.data;
    const reused = await ask({ ...buyer, campaignId: another }, { sellerIds }, key);
    expect(refusalOf(reused)[1]).toBe('IDEMPOTENCY_CONFLICT');
    // Another account is not affected.
    expect((await completed(await newBuyer(), sellerIds)).status).toBe('complete');
    await until(async () => (await read(buyer, executionId)).status === 'complete');
    expect((await completed(buyer, sellerIds)).status).toBe('complete');
  });

  it('of many requests at once, one starts', async () => {
    const buyer = await newBuyer();
    const sellerIds = [await connected('slow_1000')];
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(buyer, { sellerIds })));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  });
});

describe('the request', () => {
  it('is refused for unknown campaigns and sellers, stale revisions and archived campaigns', async () => {
    const buyer = await newBuyer();
    const sellerIds = [await connected('works')];
    expect(refusalOf(await ask({ ...buyer, campaignId: 'cmp_x' }, { sellerIds }))).toEqual(notFound());
    expect(refusalOf(await ask(buyer, { sellerIds: [999_999] }))).toEqual(notFound('sellerIds.0'));
    expect(refusalOf(await ask(buyer, { sellerIds: [] }))).toEqual(invalid('sellerIds'));
    const stale = await ask(buyer, { sellerIds, expectedCampaignRevision: 7 });
    expect(refusalOf(stale)).toEqual(conflict('expectedCampaignRevision'));
    expect(stale.body.error?.details).toMatchObject({ currentRevision: 1 });
    await buyer.api.delete(`/campaigns/${buyer.campaignId}`);
    expect(refusalOf(await ask(buyer, { sellerIds }))).toEqual(conflict());
  });

  it('to all sellers needs a confirmation, with the same key or another', async () => {
    const buyer = await newBuyer();
    await connected('works');
    const key = 'broadcast-0123456789';
    const asked = await ask(buyer, { confirm: true }, key);
    const { action, confirmation } = asked.body.data as unknown as {
      action: string;
      confirmation: { confirmationUid: string; expiresAt: string; summary: string };
    };
    expect([asked.status, action]).toEqual([200, 'pending_confirmation']);
    expect(confirmation).toMatchObject({ tool: 'request_proposals', revision: 1 });
    expect(Date.parse(confirmation.expiresAt) - Date.now()).toBeGreaterThan(14 * 60_000);
    expect(
      (await buyer.api.get<unknown[]>(`/campaigns/${buyer.campaignId}/proposal-requests`)).body.data,
    ).toEqual([]);
    const { confirmationUid } = confirmation;
    expect(refusalOf(await ask(buyer, { confirmationUid }))).toEqual(invalid('confirm'));
    const stranger = await newBuyer();
    expect(refusalOf(await ask(stranger, { confirm: true, confirmationUid }))[1]).toBe(
      'CONFIRMATION_EXPIRED',
    );
    const others = { confirm: true, confirmationUid, expectedCampaignRevision: 1 };
    expect(refusalOf(await ask(buyer, others))).toEqual(conflict('confirmationUid'));
    const done = await ask(buyer, { confirm: true, confirmationUid }, key);
    expect(done.status).toBe(202);
    expect(done.body.data.summary.sellersRequested).toBeGreaterThan(1);
    expect((await ask(buyer, { confirm: true, confirmationUid }, key)).text).toBe(done.text);
    expect(refusalOf(await ask(buyer, { confirm: true, confirmationUid }))[1]).toBe('CONFIRMATION_EXPIRED');
  });
});

describe('reads', () => {
  it('page through the products with sealed cursors', async () => {
    const buyer = await newBuyer();
    const { executionId } = await completed(buyer, [await connected('many'), await connected('works')]);
    const first = await read(buyer, executionId);
    expect(first.page).toEqual({
      returned: 20,
      total: 51,
      hasMore: true,
      nextCursor: expect.any(String),
      truncated: false,
    });
    expect(first.perSeller[0]).toMatchObject({ unlistedProducts: 20 });
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await read(buyer, executionId, `?limit=50${cursor}`);
      seen.push(
        ...page.perSeller.flatMap(({ sellerId, products }) =>
          products.map((p) => `${sellerId} ${p.productId}`),
        ),
      );
      if (page.page.nextCursor === undefined) break;
      cursor = `&cursor=${encodeURIComponent(page.page.nextCursor)}`;
    }
    expect([seen.length, new Set(seen).size]).toEqual([51, 51]);
    const path = `/campaigns/${buyer.campaignId}/proposal-requests/${executionId}`;
    const cursor = encodeURIComponent(first.page.nextCursor ?? '');
    const other = await newBuyer();
    const foreign = await completed(other, [await connected('works')]);
    const at = `/campaigns/${other.campaignId}/proposal-requests/${foreign.executionId}?cursor=${cursor}`;
    expect(refusalOf(await other.api.get(at))).toEqual(invalid('cursor'));
    expect(refusalOf(await buyer.api.get(`${path}?limit=51`))).toEqual(invalid('limit'));
    expect(refusalOf(await other.api.get(path))).toEqual(notFound());
  });

  it('list the executions of a campaign, newest first, now and then', async () => {
    const buyer = await newBuyer();
    const sellerIds = [await connected('works')];
    const made = [await completed(buyer, sellerIds), await completed(buyer, sellerIds)];
    const path = `/campaigns/${buyer.campaignId}/proposal-requests`;
    const list = await buyer.api.get<ProposalRequestResource[]>(path);
    const ids = made.map(({ executionId }) => executionId).toReversed();
    expect(list.body.data.map(({ executionId }) => executionId)).toEqual(ids);
    expect(list.body.meta.pagination).toEqual({ skip: 0, take: 50, total: 2, hasMore: false });
    const [, first] = ids;
    const then = await buyer.api.get<ProposalRequestResource[]>(`${path}?asOf=${made[0]?.completedAt}`);
    expect(then.body.data.map(({ executionId }) => executionId)).toEqual([first]);
    const started = await read(buyer, first ?? '', '?asOf=1');
    expect(started).toMatchObject({ status: 'running', summary: { sellersPending: 1 } });
  });
});

describe("the AdCP package's own example sellers", () => {
  it('answer with products, next to one that is silent', async () => {
    const kinds = ['guaranteed', 'non-guaranteed'] as const;
    const examples = await Promise.all(kinds.map((kind) => startExampleSeller(kind)));
    try {
      const { store, secrets } = service.installation;
      const ids: number[] = [];
      for (const [n, { url, token }] of examples.entries()) {
        const { sellerId } = await addSeller({ store, clock }, { name: `Example ${n}`, channels: [] });
        await connectSeller({ store, secrets, clock }, sellerId, { url, protocol: 'MCP', token });
        ids.push(sellerId);
      }
      const buyer = await newBuyer({ brand: 'acmeoutdoor.example' });
      // The first call loads the schemas of an example, which may take longer than its time.
      await completed(buyer, ids);
      const execution = await completed(buyer, [...ids, await connected('silent')]);
      expect(execution).toMatchObject({
        status: 'partial',
        summary: { sellersWithProducts: 2, sellersQuoted: 0, sellersFailed: 1 },
      });
      for (const { status, products, invalidItems } of execution.perSeller.slice(0, 2)) {
        expect([status, invalidItems]).toEqual(['products', undefined]);
        expect(products.length).toBeGreaterThan(0);
        expect(products[0]?.pricingOptions[0]).toMatchObject({ pricingModel: 'cpm', currency: 'USD' });
      }
    } finally {
      await Promise.all(examples.map((one) => one.stop()));
    }
  });
});

describe('the death of the worker in the middle', () => {
  it('ends the execution partial at its deadline, and the slot is free again', async () => {
    // Time for the death of the worker.
    const patient = { ...settings, PROPOSAL_SELLER_MS: '10000' };
    const api = await startRunningService({ ...patient, ROLES: 'api,projector' });
    const startWorker = (): Program =>
      startProgram({
        ...api.stores,
        ...patient,
        NODE_ENV: 'test',
        PORT: '0',
        ROLES: 'worker',
        LOG_LEVEL: 'silent',
        DATA_DIR: api.dataDir,
        SECRET_KEYS: `test:${'A'.repeat(43)}`,
      });
    let worker = startWorker();
    try {
      const { store, secrets } = api.installation;
      const ids: number[] = [];
      for (const how of ['works', 'silent']) {
        const { sellerId } = await addSeller({ store, clock }, { name: how, channels: [] });
        const agent = { url: sellers.url(how), protocol: 'MCP' } as const;
        await connectSeller({ store, secrets, clock }, sellerId, agent);
        ids.push(sellerId);
      }
      const buyer = await newBuyer({}, {}, api);
      // Until the worker has started, which may take longer than a seller's time.
      await until(async () => (await completed(buyer, ids.slice(0, 1))).status === 'complete');
      const { executionId } = (await ask(buyer, { sellerIds: ids })).body.data;
      await until(async () => (await read(buyer, executionId)).summary.sellersResponded === 1);
      await worker.end('SIGKILL');
      expect((await read(buyer, executionId)).status).toBe('running');
      expect(refusalOf(await ask(buyer, { sellerIds: ids }))).toEqual(conflict());
      worker = startWorker();
      await until(async () => (await read(buyer, executionId)).status !== 'running');
      const done = await read(buyer, executionId);
      expect(done).toMatchObject({ status: 'partial', summary: { sellersFailed: 1, sellersPending: 0 } });
      expect((await completed(buyer, [ids[0] ?? 0])).status).toBe('complete');
    } finally {
      await worker.end('SIGKILL');
      await api.stop();
    }
  });
});

describe('the death of the API in the middle', () => {
  it.each([
    ['of the request', 0],
    ['of the execution', 1],
  ])('%s: it ends once, and the slot is free again', async (_when, answersBefore) => {
    const port = await freePort();
    const doomed = startProgram({
      ...service.stores,
      ...settings,
      ...generousLimits,
      NODE_ENV: 'test',
      PORT: String(port),
      ROLES: 'api',
      DATA_DIR: service.dataDir,
      SECRET_KEYS: `test:${'A'.repeat(43)}`,
    });
    const buyer = await newBuyer();
    const sellerIds = [await connected('works'), await connected('silent')];
    const key = 'asked-by-a-doomed-process';
    await until(
      async () => (await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined))?.ok === true,
    );
    const api = apiOf(`http://127.0.0.1:${port}`, { Authorization: `Bearer ${buyer.apiKey}` });
    const asked = ask({ ...buyer, api }, { sellerIds }, key).catch(() => undefined);
    if (answersBefore === 1) await asked;
    await doomed.end('SIGKILL');
    // A client that got no answer repeats the request, here at another process.

    const { executionId } = (await ask(buyer, { sellerIds }, key)).body.data;
    await until(async () => (await read(buyer, executionId)).status !== 'running');
    expect(await read(buyer, executionId)).toMatchObject({
      status: 'partial',
      summary: { sellersPending: 0 },
    });
    expect((await completed(buyer, sellerIds.slice(0, 1))).status).toBe('complete');
    const list = await buyer.api.get<readonly unknown[]>(`/campaigns/${buyer.campaignId}/proposal-requests`);
    expect(list.body.data).toHaveLength(2);
  });
});

describe('the operator', () => {
  it('connects and disconnects agents; the token is shown nowhere, and internal addresses are refused', async () => {
    const environment = { ...service.stores, DATA_DIR: service.dataDir, LOG_LEVEL: 'silent', ...settings };
    const { store } = service.installation;
    const { sellerId } = await addSeller({ store, clock }, { name: 'The operator', channels: [] });
    const connect = (...more: readonly string[]) =>
      exchange(['sellers', 'connect', String(sellerId), ...more], environment);
    expect(await connect('--agent-url', 'http://10.0.0.1/mcp')).toMatchObject({ status: 2 });
    expect(await connect('--agent-url', 'file:///etc/passwd')).toMatchObject({ status: 2 });
    const { status, stdout } = await connect('--agent-url', sellers.url('works'), '--json');
    expect([status, JSON.parse(stdout)]).toMatchObject([
      0,
      { sellerId, agent: { url: sellers.url('works'), protocol: 'MCP', hasToken: false } },
    ]);
    await exchange(['sellers', 'disconnect', String(sellerId)], environment);
    const list = await exchange(['sellers', 'list', '--json'], environment);
    expect(list.stdout).not.toContain('secretId');
    const rows = list.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(rows).toContainEqual({
      sellerId,
      name: 'The operator',
      channels: [],
      retired: false,
    });
  });
});
