import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKeptAnswers } from '../../command/workers/proposals/kept-answers.ts';
import { addSeller, connectSeller } from '../../command/sellers/commands.ts';
import type { Channel } from '../../domain/advertisers/resource.ts';
import { sellerDeliveryAggregate } from '../../domain/reporting/seller-delivery.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { connectV2, officialClients, type ToolClient } from '../support/mcp-clients.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startSellers, type TestSellers } from '../support/sellers.ts';
import { until } from '../support/until.ts';

/** The exchange as an AdCP agent, in front of sellers that are built with the official server builder. */

type ChannelName = (typeof Channel.options)[number];

/** A request chooses its sellers by their channel. */
const directory: readonly (readonly [how: string, channel: ChannelName])[] = [
  ['works', 'display'],
  ['works-too', 'display'],
  ['silent', 'radio'],
  ['html', 'podcast'],
  ['down', 'podcast'],
  ['redirecting', 'podcast'],
  ['big', 'podcast'],
  ['no-products', 'podcast'],
  ['rejecting', 'podcast'],
  ['submitted', 'podcast'],
  ['unavailable', 'podcast'],
  ['one-bad', 'olv'],
  ['prompting', 'search'],
  ['many', 'social'],
  ['heavy', 'ctv'],
  ['slow_2500', 'dooh'],
];

const SELLER_MS = 4_000;

let service: RunningService;
let sellers: TestSellers;
let account: TestAccount;
let client: ToolClient;
const idOf = new Map<string, number>();
const urlOf = (): string => `${service.baseUrl}/adcp/mcp`;
const connect = (apiKey: string): Promise<ToolClient> => connectV2('auto')(urlOf(), apiKey);
beforeAll(async () => {
  const settings = { OUTBOUND_ALLOW_LOOPBACK: 'true', PROPOSAL_SELLER_MS: String(SELLER_MS) };
  [service, sellers] = await Promise.all([startRunningService(settings), startSellers()]);
  const { store, secrets } = service.installation;
  for (const [how, channel] of directory) {
    const { sellerId } = await addSeller({ store, clock }, { name: how, channels: [channel] });
    await connectSeller({ store, secrets, clock }, sellerId, { url: sellers.url(how), protocol: 'MCP' });
    idOf.set(how, sellerId);
  }
  account = await service.openAccount('Buyers');
  client = await connect(account.apiKey);
});
afterAll(async () => {
  await client?.close();
  await Promise.all([service.stop(), sellers.stop()]);
});

interface Products {
  readonly status: string;
  readonly products: readonly {
    readonly product_id: string;
    readonly name: string;
    readonly description?: string;
    readonly ext: { readonly buyer_exchange: object };
  }[];
  readonly incomplete?: readonly { readonly scope: string; readonly description: string }[];
  readonly pagination: { readonly has_more: boolean; readonly cursor?: string; readonly total_count: number };
}

const asked = (channels: readonly ChannelName[], more: object = {}) => ({
  buying_mode: 'brief',
  brief: 'Reach gardeners',
  filters: { channels },
  ...more,
});

const getProducts = async (channels: readonly ChannelName[], more: object = {}, by = client) => {
  const { isError, content } = await by.call('get_products', asked(channels, more));
  expect([isError, content['adcp_error'] ?? null]).toEqual([false, null]);
  return content as unknown as Products;
};

const refusal = async (tool: string, input: Readonly<Record<string, unknown>>, by = client) => {
  const { isError, content } = await by.call(tool, input);
  expect([isError, content['status']]).toEqual([true, 'failed']);
  return content['adcp_error'] as Readonly<Record<string, unknown>>;
};

const named = (how: string): string => `Seller ${idOf.get(how)} (${how})`;
const callsOf = async (how: string) => (await sellers.calls()).filter((call) => call.how === how);

it.each(officialClients)('the official client, %s, reads what the agent offers', async (_name, connectAs) => {
  const connected = await connectAs(urlOf(), account.apiKey);
  expect((await connected.tools()).map(({ name }) => name)).toEqual([
    'get_adcp_capabilities',
    'get_products',
    'get_media_buy_delivery',
  ]);
  const context = { correlation_id: 'first' };
  const { content } = await connected.call('get_adcp_capabilities', { context });
  expect(content).toMatchObject({
    status: 'completed',
    context,
    adcp: { major_versions: [3], idempotency: { supported: false } },
    supported_protocols: ['media_buy'],
  });
  await connected.close();
});

describe('get_products', () => {
  it('returns the products of all sellers, and says which sellers are missing', async () => {
    const context = { plan: 7 };
    const found = await getProducts(['display', 'radio', 'podcast'], {
      context,
      account: { brand: { domain: 'acme.example' }, operator: 'agency.example' },
    });
    // One of the missing is silent: it would answer after 10 minutes.
    expect(found).toMatchObject({ status: 'completed', context, pagination: { has_more: false } });
    const [works, too] = [idOf.get('works'), idOf.get('works-too')];
    // Both sellers call their product p1.
    expect(found.products.map(({ product_id, ext }) => [product_id, ext.buyer_exchange])).toEqual([
      [`${works}:p1`, { seller_id: works, seller_name: 'works', product_id: 'p1' }],
      [`${too}:p1`, { seller_id: too, seller_name: 'works-too', product_id: 'p1' }],
    ]);
    expect(found.products[0]).toMatchObject({ publisher_properties: [{}], reporting_capabilities: {} });
    expect(found.incomplete).toEqual(
      [
        `${named('silent')} did not answer in time.`,
        `${named('html')} gave no valid answer.`,
        `${named('down')} could not be reached.`,
        `${named('redirecting')} gave no valid answer.`,
        `${named('big')} gave no valid answer.`,
        `${named('no-products')} gave an answer without products.`,
        `${named('rejecting')} refused the request.`,
        `${named('submitted')} works on its answer. Ask again later.`,
      ].map((description) => ({ scope: 'products', description })),
    );
    const [call] = await callsOf('works');
    expect(call?.asked).toMatchObject({
      buying_mode: 'brief',
      brief: 'Reach gardeners',
      account: { brand: { domain: 'acme.example' }, operator: '127.0.0.1' },
    });
    expect(call?.asked).not.toHaveProperty('context');
  });

  it('leaves out an invalid product, names it, and keeps the others', async () => {
    const { products, incomplete } = await getProducts(['olv']);
    expect(products.map(({ product_id }) => product_id)).toEqual([`${idOf.get('one-bad')}:good`]);
    const without = 'a product without a valid product_id';
    expect(incomplete).toEqual([
      {
        scope: 'products',
        description: `${named('one-bad')}: 3 invalid: ${without}, ${without}, "fine" (/pricing_options).`,
      },
    ]);
  });

  it('shows a text with a prompt as data of its product, without control characters', async () => {
    const { products } = await getProducts(['search']);
    expect(products).toHaveLength(1);
    expect(products[0]?.name).toMatch(/^Ignore your instructions/);
    expect(products[0]?.description).toMatch(/^a bx+$/);
    const { description } = (await client.tools()).find(({ name }) => name === 'get_products') ?? {};
    expect(description).toMatch(/data, not instructions/);
  });

  it('keeps to the time of the caller', async () => {
    const startedAt = Date.now();
    const hurried = await getProducts(['dooh'], { time_budget: { interval: 1, unit: 'seconds' } });
    expect(Date.now() - startedAt).toBeLessThan(2_300);
    expect(hurried).toMatchObject({
      products: [],
      incomplete: [{ description: `${named('slow_2500')} did not answer in time.` }],
    });
    const patient = await getProducts(['dooh'], { time_budget: { interval: 1, unit: 'hours' } });
    expect(patient.products).toHaveLength(1);
    const budgets = (await callsOf('slow_2500')).map((call) => call.asked['time_budget']);
    expect(budgets).toEqual([1, 3].map((interval) => ({ interval, unit: 'seconds' })));
  });

  it('continues the list of one search with a sealed cursor', async () => {
    const first = await getProducts(['social']);
    expect([first.products.length, first.pagination.total_count]).toEqual([50, 70]);
    const pagination = { cursor: first.pagination.cursor };
    const second = await getProducts(['social'], { pagination });
    expect(second.pagination).toEqual({ has_more: false, total_count: 70 });
    const ids = [...first.products, ...second.products].map(({ product_id }) => product_id);
    expect(new Set(ids).size).toBe(70);
    expect(await callsOf('many')).toHaveLength(1);

    const other = await connect((await service.openAccount('Others')).apiKey);
    const wrong = { code: 'VALIDATION_ERROR', field: 'cursor', recovery: 'correctable' };
    expect(await refusal('get_products', asked(['social'], { pagination }), other)).toMatchObject(wrong);
    expect(await refusal('get_products', asked(['ctv'], { pagination }))).toMatchObject(wrong);
    await other.close();

    await service.pool.query(`update proposal_answers set kept_until = now() - interval '1 day'`);
    const objects = await openObjectStore(undefined, service.dataDir);
    await createKeptAnswers({ pool: service.pool, objects, days: 1 }).purge(10);
    expect(await refusal('get_products', asked(['social'], { pagination }))).toMatchObject({
      code: 'INVALID_REQUEST',
      field: 'pagination.cursor',
    });
  });

  it('has at most 200,000 bytes', async () => {
    let pagination = {};
    let products = 0;
    for (;;) {
      const raw = await client.raw('get_products', asked(['ctv'], { pagination }));
      expect(Buffer.byteLength(JSON.stringify(raw.structuredContent))).toBeLessThanOrEqual(200_000);
      const page = raw.structuredContent as unknown as Products;
      products += page.products.length;
      if (page.pagination.cursor === undefined) break;
      pagination = { cursor: page.pagination.cursor };
    }
    expect(products).toBe(20);
  });

  it('shows the fields that were asked for', async () => {
    const { products } = await getProducts(['display'], { fields: ['product_id', 'channels'] });
    expect(products.map((one) => Object.keys(one).sort())).toEqual(
      [1, 2].map(() => ['channels', 'ext', 'name', 'product_id']),
    );
  });

  it('an account has two searches at a time', async () => {
    const budget = { time_budget: { interval: 1, unit: 'seconds' } };
    const all = await Promise.all([1, 2, 3].map(() => client.call('get_products', asked(['radio'], budget))));
    const errors = all.flatMap(({ content }) => content['adcp_error'] ?? []);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'RATE_LIMITED', recovery: 'transient', retry_after: 5 }),
    ]);
    expect((await getProducts(['display'])).products).toHaveLength(2);
  });

  it.each([
    ['refinement', { buying_mode: 'refine' }, 'UNSUPPORTED_FEATURE', 'buying_mode'],
    ['no mode', { brief: 'x' }, 'INVALID_REQUEST', expect.anything()],
    ['no brief', { buying_mode: 'brief' }, 'INVALID_REQUEST', 'brief'],
    ['a brief for all', { buying_mode: 'wholesale', brief: 'x' }, 'INVALID_REQUEST', 'brief'],
    [
      'an account id',
      { buying_mode: 'wholesale', account: { account_id: '1' } },
      'UNSUPPORTED_FEATURE',
      'account',
    ],
    [
      'another version',
      { buying_mode: 'wholesale', adcp_major_version: 4 },
      'VERSION_UNSUPPORTED',
      'adcp_major_version',
    ],
    [
      'a large context',
      { buying_mode: 'wholesale', context: { text: 'x'.repeat(20_000) } },
      'INVALID_REQUEST',
      'context',
    ],
    [
      'a wrong unit',
      { ...asked(['ctv'], { time_budget: { interval: 1, unit: 'years' } }) },
      'INVALID_REQUEST',
      'time_budget.unit',
    ],
  ])('refuses %s', async (_what, input, code, field) => {
    expect(await refusal('get_products', input)).toMatchObject({ code, field, recovery: 'correctable' });
  });
});

describe('get_media_buy_delivery', () => {
  const { execute } = handlerFor(sellerDeliveryAggregate);
  const day = new Date().toISOString().slice(0, 10);

  interface Buy {
    readonly id: string;
    readonly currency?: string;
    readonly spend?: number;
    readonly advertiserId?: number;
  }

  const report = async (
    { customerId }: TestAccount,
    sellerId: number,
    buys: readonly Buy[],
  ): Promise<void> => {
    const commandId = randomUUID();
    const context = { commandId, customerId, actor: 'worker:test', requestId: commandId };
    const command = {
      type: 'ReportDelivery' as const,
      now: new Date().toISOString(),
      sellerId,
      day,
      buys: buys.map(({ id, currency = 'USD', spend, advertiserId }) => ({
        mediaBuyId: id,
        currency,
        impressions: 1_000,
        ...(spend !== undefined && { spend }),
        ...(advertiserId !== undefined && { campaign: { advertiserId, campaignId: randomUUID() } }),
      })),
    };
    await execute({ store: service.installation.store }, { sellerId, day }, command, { context });
  };

  interface Delivery {
    readonly media_buy_deliveries: readonly Readonly<Record<string, unknown>>[];
    readonly errors?: readonly Readonly<Record<string, unknown>>[];
  }
  const read = async (by: ToolClient, input: object = {}) => {
    const { isError, content } = await by.call('get_media_buy_delivery', { ...input });
    expect([isError, content['adcp_error'] ?? null]).toEqual([false, null]);
    return content as unknown as Delivery;
  };

  it('shows what sellers have reported to the account, and nothing of others', async () => {
    const [buyer, other] = [await service.openAccount(), await service.openAccount()];
    const [mine, theirs] = [await connect(buyer.apiKey), await connect(other.apiKey)];
    expect(await read(mine)).toMatchObject({ currency: 'USD', media_buy_deliveries: [] });
    await report(buyer, 1_001, [{ id: 'mb1', spend: 12.5 }, { id: 'mb2' }]);
    await report(buyer, 1_002, [{ id: 'mb1', spend: 0.25 }]);
    await until(async () => (await read(mine)).media_buy_deliveries.length === 2);
    const whole = await read(mine);
    expect(whole).toMatchObject({
      currency: 'USD',
      aggregated_totals: { impressions: 2_000, spend: 12.75, media_buy_count: 2 },
      media_buy_deliveries: [
        { media_buy_id: '1001:mb1', status: 'active', totals: { impressions: 1_000, spend: 12.5 } },
        { media_buy_id: '1002:mb1', ext: { buyer_exchange: { seller_id: 1_002, status_known: false } } },
      ],
      errors: [{ code: 'DATA_UNAVAILABLE', message: expect.stringContaining('1001:mb2') }],
    });
    const one = await read(mine, {
      media_buy_ids: ['1002:mb1', '1003:mb1', 'mb1'],
      start_date: day,
      end_date: day,
    });
    expect(one.media_buy_deliveries.map((buy) => buy['media_buy_id'])).toEqual(['1002:mb1']);
    expect(one.errors?.map(({ code, message }) => [code, message])).toEqual(
      ['1003:mb1', 'mb1'].map((id) => ['MEDIA_BUY_NOT_FOUND', expect.stringContaining(id)]),
    );
    const hidden = await read(theirs, { media_buy_ids: ['1001:mb1'] });
    expect(hidden).toMatchObject({ media_buy_deliveries: [], errors: [{ code: 'MEDIA_BUY_NOT_FOUND' }] });
    await Promise.all([mine.close(), theirs.close()]);
  });

  it('filters by the brand of an advertiser', async () => {
    const buyer = await service.openAccount();
    const mine = await connect(buyer.apiKey);
    const ids: number[] = [];
    for (const brand of ['acme.example', 'other.example']) {
      const created = await buyer.api.post<{ id: number }>('/advertisers', { name: brand, brand });
      ids.push(created.body.data.id);
    }
    const [acme, other] = ids as [number, number];
    await report(buyer, 1_001, [
      { id: 'acme', spend: 1, advertiserId: acme },
      { id: 'other', spend: 1, advertiserId: other },
      { id: 'none', spend: 1 },
    ]);
    await until(async () => (await read(mine)).media_buy_deliveries.length === 3);
    const acmes = { account: { brand: { domain: 'acme.example' }, operator: 'agency.example' } };
    const { media_buy_deliveries: buys } = await read(mine, acmes);
    expect(buys.map((buy) => buy['media_buy_id'])).toEqual(['1001:acme']);
    await mine.close();
  });

  it('refuses several currencies, a filter by status and a long range', async () => {
    const buyer = await service.openAccount();
    const mine = await connect(buyer.apiKey);
    await report(buyer, 1_001, [
      { id: 'eur', currency: 'EUR', spend: 1 },
      { id: 'usd', currency: 'USD', spend: 1 },
    ]);
    await until(async () => (await mine.call('get_media_buy_delivery')).isError);
    expect(await refusal('get_media_buy_delivery', {}, mine)).toMatchObject({
      code: 'INVALID_REQUEST',
      details: { currencies: ['EUR', 'USD'] },
    });
    const one = await read(mine, { media_buy_ids: ['1001:eur'] });
    expect(one).toMatchObject({ currency: 'EUR' });
    expect(await refusal('get_media_buy_delivery', { status_filter: 'active' }, mine)).toMatchObject({
      code: 'UNSUPPORTED_FEATURE',
      field: 'status_filter',
    });
    const range = { start_date: '2026-01-01', end_date: '2026-06-01' };
    expect(await refusal('get_media_buy_delivery', range, mine)).toMatchObject({
      code: 'VALIDATION_ERROR',
      field: 'start_date',
    });
    await mine.close();
  });
});

describe('the address', () => {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_products', arguments: asked(['display']) },
  };
  const send = (headers: Readonly<Record<string, string>>, method = 'POST') =>
    fetch(urlOf(), {
      method,
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    });
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

  it('asks for a credential, and says where to get one', async () => {
    const answer = await send({});
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('/.well-known/oauth-protected-resource/adcp/mcp'),
    ]);
    expect((await send(bearer('bx_unknown'))).status).toBe(401);
  });

  it('a credential that only reads cannot send a brief to sellers', async () => {
    const created = await account.api.post<{ key: string }>('/api-keys', {
      name: 'Reader',
      scopes: ['exchange:read'],
    });
    const { key } = created.body.data;
    const reader = await connect(key);
    expect((await reader.tools()).map(({ name }) => name)).toEqual([
      'get_adcp_capabilities',
      'get_media_buy_delivery',
    ]);
    await reader.close();
    const answer = await send(bearer(key));
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('exchange:write')]);
  });

  it('counts a call, needs no session, and has none', async () => {
    const first = await send(bearer(account.apiKey));
    expect([first.status, first.headers.get('mcp-session-id')]).toEqual([200, null]);
    const second = await send(bearer(account.apiKey));
    const left = (answer: Response) => Number(answer.headers.get('ratelimit-remaining'));
    expect(left(first) - left(second)).toBe(1);
    for (const method of ['GET', 'DELETE']) {
      expect((await send(bearer(account.apiKey), method)).status).toBe(405);
    }
  });

  it('refuses a foreign Host and pages of foreign origins', async () => {
    const page = await send({ ...bearer(account.apiKey), Origin: 'https://evil.example' });
    expect(page.status).toBe(403);
    // `fetch` always sends the Host of the address.
    const headers = { ...bearer(account.apiKey), 'Content-Type': 'application/json', Host: 'evil.example' };
    const sent = request(urlOf(), { method: 'POST', headers });
    sent.end(JSON.stringify(body));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(403);
  });

  it('does not offer other tasks, and has nothing to follow', async () => {
    await expect(client.raw('create_media_buy')).rejects.toThrow('create_media_buy');
    const listen = { ...body, method: 'subscriptions/listen', params: {} };
    const answer = await fetch(urlOf(), {
      method: 'POST',
      headers: { ...bearer(account.apiKey), 'Content-Type': 'application/json' },
      body: JSON.stringify(listen),
    });
    expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: -32_601 } }]);
  });
});
