import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import {
  createClient,
  ExchangeConnectionError,
  ExchangeError,
  verifyWebhook,
  WebhookVerificationError,
  type Exchange,
} from '../../client/src/index.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { until } from '../support/until.ts';

/** The client against the service, and against the service behind a proxy that loses requests and answers. */

let service: RunningService;
let account: TestAccount;
let exchange: Exchange;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  exchange = createClient({ url: service.baseUrl, apiKey: account.apiKey });
  ({ id: advertiserId } = await exchange.post('/advertisers', { body: { name: 'Acme' } }));
});
afterAll(() => service.stop());

type Fault = (
  request: IncomingMessage,
  response: ServerResponse,
) => 'drop' | 'drop-answer' | 'answered' | undefined;

/** Forwards to the service, except where `fault` decides otherwise. */
const startProxy = async (fault: Fault) => {
  const keys: (string | undefined)[] = [];
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    keys.push(request.headers['idempotency-key'] as string | undefined);
    const decided = fault(request, response);
    if (decided === 'answered') return;
    if (decided === 'drop') {
      request.socket.destroy();
      return;
    }
    const body = Buffer.concat(await request.toArray());
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(
        ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name),
      ),
    ) as Record<string, string>;
    const init = { method: request.method ?? 'GET', headers, ...(body.length > 0 ? { body } : {}) };
    const answer = await fetch(service.baseUrl + request.url, init);
    const text = await answer.text();
    if (decided === 'drop-answer') {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(text);
  };
  const server: Server = createServer((request, response) => void forward(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    keys,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

describe('calls', () => {
  it('resolve to the data of the answer, with the types of the operation', async () => {
    const advertiser = await exchange.get('/advertisers/{id}', { params: { path: { id: advertiserId } } });
    const name: string = advertiser.name;
    expect([name, advertiser.status]).toEqual(['Acme', 'ACTIVE']);
    const current = await exchange.get('/api/v2/accounts/current');
    expect(current.id).toBe(account.customerId);
    // @ts-expect-error a path that does not exist
    await expect(exchange.get('/advertiser')).rejects.toMatchObject({ status: 404 });
    // @ts-expect-error a member of the wrong type
    await expect(exchange.post('/advertisers', { body: { name: 1 } })).rejects.toBeInstanceOf(ExchangeError);
  });

  it('an answer without a body is undefined, and an answer has its status and headers', async () => {
    const { id } = await exchange.post('/advertisers', { body: { name: 'Gone' } });
    const path = { params: { path: { id } } };
    const answer = await exchange.answer('delete', '/advertisers/{id}', path);
    expect([answer.status, answer.data]).toEqual([204, undefined]);
    expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  });

  it('a refusal is an error with code, field, status and the id of the request', async () => {
    const refused = await exchange
      .post('/advertisers', { body: { name: '' } })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ExchangeError);
    expect(refused).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      field: 'name',
      message: expect.any(String),
      requestId: expect.stringMatching(/^[\w-]{36}$/),
      isOutcomeUnknown: false,
    });
    const stranger = createClient({ url: service.baseUrl, apiKey: async () => 'bx_unknown' });
    await expect(stranger.get('/advertisers')).rejects.toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
  });

  it('the client of openapi-fetch below has the same credential and keys, and throws nothing', async () => {
    const { data, error, response } = await exchange.raw.POST('/advertisers', { body: { name: 'Raw' } });
    expect([data?.data.name, error, response.status]).toEqual(['Raw', undefined, 201]);
  });

  it('an answer that is not JSON is an error with its status; other forms are read on request', async () => {
    const proxy = await startProxy((request, response) => {
      response
        .writeHead(200, { 'Content-Type': 'text/html', 'X-Request-Id': 'of-a-proxy' })
        .end('<h1>Sign in</h1>');
      return request.url === undefined ? undefined : 'answered';
    });
    const through = createClient({ url: proxy.url, apiKey: account.apiKey });
    const refused = {
      name: 'ExchangeError',
      status: 200,
      code: 'UNEXPECTED_ANSWER',
      requestId: 'of-a-proxy',
    };
    await expect(through.get('/sellers')).rejects.toMatchObject({ ...refused, isOutcomeUnknown: false });
    const written = through.post('/advertisers', { body: { name: 'Lost' } });
    await expect(written).rejects.toMatchObject({ ...refused, isOutcomeUnknown: true });
    proxy.stop();
    const skill = await exchange.answer('get', '/skill.md', { parseAs: 'text' });
    expect(skill.data).toMatch(/^# Buyer Exchange/);
  });
});

describe('retries', () => {
  it('a write whose answer was lost is repeated with the same key, and has one effect', async () => {
    let calls = 0;
    const proxy = await startProxy(() => ((calls += 1) === 1 ? 'drop-answer' : undefined));
    const through = createClient({ url: proxy.url, apiKey: account.apiKey });
    const { id } = await through.post('/advertisers', { body: { name: 'Once' } });
    expect([proxy.keys.length, new Set(proxy.keys).size]).toEqual([2, 1]);
    const named = await exchange.page('/advertisers', { params: { query: { name: 'Once' } } });
    expect(named.items.map((one) => one.id)).toEqual([id]);
    // Each call has another key.
    await through.post('/advertisers', { body: { name: 'Twice' } });
    expect(new Set(proxy.keys).size).toBe(2);
    proxy.stop();
  });

  it('a write without a key is not repeated after a lost answer: its outcome is unknown', async () => {
    const proxy = await startProxy(() => 'drop');
    const through = createClient({ url: proxy.url });
    const body = { client_id: 'app', token: 'rt_unknown' };
    await expect(through.post('/auth/revoke', { body })).rejects.toBeInstanceOf(ExchangeConnectionError);
    expect(proxy.keys).toEqual([undefined]);
    proxy.stop();
  });

  it('gives up after the set number of tries, with the key for a later repeat', async () => {
    const proxy = await startProxy(() => 'drop');
    const through = createClient({ url: proxy.url, apiKey: account.apiKey, tries: 2 });
    const lost = (await through
      .post('/advertisers', { body: { name: 'Later' } })
      .catch((error: unknown) => error)) as ExchangeConnectionError;
    expect(lost).toMatchObject({ name: 'ExchangeConnectionError', isTimeout: false, isOutcomeUnknown: true });
    expect(proxy.keys).toEqual([lost.idempotencyKey, lost.idempotencyKey]);
    const later = { body: { name: 'Later' }, idempotencyKey: lost.idempotencyKey ?? '' };
    const first = await exchange.post('/advertisers', later);
    const again = await exchange.answer('post', '/advertisers', later);
    expect([again.data.id, again.headers.get('idempotent-replayed')]).toEqual([first.id, 'true']);
    proxy.stop();
    expect(() => createClient({ url: proxy.url, tries: 6 })).toThrow(RangeError);
  });

  it('waits as long as Retry-After says, and not for longer than allowed', async () => {
    const times: number[] = [];
    const proxy = await startProxy((request, response) => {
      times.push(performance.now());
      if (request.url?.endsWith('/sellers') !== true && times.length > 1) return undefined;
      const seconds = request.url?.endsWith('/sellers') === true ? '3600' : '1';
      const error = { code: 'RATE_LIMITED', message: 'Too many requests.' };
      response.writeHead(429, { 'Retry-After': seconds }).end(JSON.stringify({ data: null, error }));
      return 'answered';
    });
    const through = createClient({ url: proxy.url, apiKey: account.apiKey });
    await through.get('/advertisers/{id}', { params: { path: { id: advertiserId } } });
    expect(times).toHaveLength(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990);
    await expect(through.get('/sellers')).rejects.toMatchObject({ status: 429, retryAfterSeconds: 3600 });
    proxy.stop();
  });

  it('a call ends at once when its signal aborts', async () => {
    const proxy = await startProxy(() => 'drop');
    const through = createClient({ url: proxy.url, apiKey: account.apiKey });
    const ended = new AbortController();
    const called = through.get('/sellers', { signal: ended.signal });
    await until(async () => proxy.keys.length > 0, 10_000);
    ended.abort(new Error('enough'));
    await expect(called).rejects.toThrow('enough');
    proxy.stop();
  });

  it('a timeout is an unknown outcome', async () => {
    const proxy = await startProxy(() => 'answered');
    const through = createClient({ url: proxy.url, apiKey: account.apiKey, timeoutMs: 50, tries: 2 });
    await expect(through.post('/advertisers', { body: { name: 'Slow' } })).rejects.toMatchObject({
      isTimeout: true,
      isOutcomeUnknown: true,
    });
    expect([proxy.keys.length, new Set(proxy.keys).size]).toEqual([2, 1]);
    proxy.stop();
  });
});

it('a browser bundle cannot hold a key: only a function is accepted there', () => {
  Object.assign(globalThis, { document: {} });
  try {
    expect(() => createClient({ url: service.baseUrl, apiKey: account.apiKey })).toThrow(TypeError);
    expect(() => createClient({ url: service.baseUrl, apiKey: () => account.apiKey })).not.toThrow();
  } finally {
    delete (globalThis as { document?: unknown }).document;
  }
});

describe('pages', () => {
  it('every item of a list with offsets, once, in its order', async () => {
    const { api } = await service.openAccount('Pages');
    const own = createClient({ url: service.baseUrl, apiKey: await newKeyOf(api) });
    for (const name of ['a', 'b', 'c', 'd', 'e']) await own.post('/advertisers', { body: { name } });
    const query = { take: 2 };
    const names: string[] = [];
    for await (const { name } of own.items('/advertisers', { params: { query } })) names.push(name);
    expect(names).toEqual(['e', 'd', 'c', 'b', 'a']);
    const sizes: unknown[] = [];
    for await (const page of own.pages('/advertisers', { params: { query: { limit: 2, offset: 1 } } })) {
      sizes.push([page.items.length, page.total, page.hasMore]);
    }
    expect(sizes).toEqual([
      [2, 5, true],
      [2, 5, false],
    ]);
    const kinds: string[] = [];
    const first = { params: { path: { id: 1 }, query: { take: 1 } } };
    const [{ id } = { id: 0 }] = (await own.page('/advertisers')).items;
    await own.put('/advertisers/{id}', { params: { path: { id } }, body: { name: 'f' } });
    first.params.path.id = id;
    for await (const { type } of own.items('/advertisers/{id}/history', first)) kinds.push(type);
    expect(kinds).toEqual(['AdvertiserCreated', 'AdvertiserUpdated']);
    const events: string[] = [];
    for await (const { type } of own.items('/events', {
      params: { query: { take: 2, types: 'advertiser.*' } },
    }))
      events.push(type);
    expect(events).toHaveLength(6);
    const logs: string[] = [];
    for await (const log of own.items('/audit-logs', { params: { query: { take: 4 } } })) logs.push(log.id);
    expect([logs.length > 4, new Set(logs).size]).toEqual([true, logs.length]);
  });

  it('lists with cursors and lists with totals', async () => {
    const campaign = await exchange.post('/campaigns', { body: { advertiserId, name: 'Autumn' } });
    const path = { id: campaign.id };
    for (const title of ['1', '2', '3']) {
      await exchange.post('/campaigns/{id}/creative-sessions', {
        params: { path },
        body: { title },
      });
    }
    const sessions: string[] = [];
    const at = { params: { path, query: { limit: 2 } } };
    for await (const { title } of exchange.items('/campaigns/{id}/creative-sessions', at))
      sessions.push(title);
    expect(sessions).toEqual(['3', '2', '1']);
    const sources = ['x', 'y', 'z'].map((id) => ({ event_source_id: id }));
    await exchange.post('/advertisers/{id}/event-sources/sync', {
      params: { path: { id: advertiserId } },
      body: { account: { account_id: String(advertiserId) }, event_sources: sources },
    });
    const found: unknown[] = [];
    const all = { params: { path: { id: advertiserId }, query: { take: 2 } } };
    for await (const one of exchange.items('/advertisers/{id}/event-sources', all)) found.push(one);
    expect(found).toHaveLength(3);
  });
});

/** A key of the account, as its first key shows it. */
const newKeyOf = async (api: TestAccount['api']): Promise<string> =>
  (await api.post<{ key: string }>('/api-keys', { name: 'client' })).body.data.key;

describe('uploads', () => {
  const bytes = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

  it('an asset is in the library, and its progress ends at its size', async () => {
    const seen: number[] = [];
    const { assetId } = await exchange.uploadAsset(advertiserId, {
      name: 'pixel.gif',
      mimeType: 'image/gif',
      bytes,
      onProgress: ({ sentBytes, totalBytes }) => seen.push(sentBytes / totalBytes),
    });
    expect(seen.at(-1)).toBe(1);
    const path = { id: advertiserId, assetId };
    const asset = await exchange.get('/advertisers/{id}/assets/{assetId}', { params: { path } });
    expect([asset.name, asset.width]).toEqual(['pixel.gif', 1]);
  });

  it('a refused upload is an error', async () => {
    const upload = { name: 'a.png', mimeType: 'image/png', bytes: new Blob([new Uint8Array(bytes)]) };
    await expect(exchange.uploadAsset(advertiserId, upload)).rejects.toMatchObject({
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
    });
  });
});

describe('listen', () => {
  it('continues after a broken connection: each event once, in order', async () => {
    const positions: (string | undefined)[] = [];
    // Cuts the stream after each event.
    const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { authorization = '', 'last-event-id': position } = request.headers as Record<string, string>;
      positions.push(position);
      const abort = new AbortController();
      response.on('close', () => abort.abort());
      const headers = { authorization, ...(position === undefined ? {} : { 'Last-Event-ID': position }) };
      let sent = '';
      try {
        const answer = await fetch(service.baseUrl + request.url, { headers, signal: abort.signal });
        response.writeHead(answer.status, { 'Content-Type': 'text/event-stream' });
        for await (const piece of answer.body ?? []) {
          response.write(piece);
          sent += Buffer.from(piece).toString();
          if (/event: advertiser.*\n\n/s.test(sent)) break;
        }
      } catch {
        // The service or the client has ended it.
      }
      response.end();
    };
    const server = createServer((request, response) => void forward(request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const listener = createClient({ url, apiKey: account.apiKey });
    const stop = new AbortController();
    const heard: string[] = [];
    let losses = 0;
    const options = {
      topics: ['advertiser.*'],
      signal: stop.signal,
      onOpen: () => opened(),
      onLost: () => (losses += 1),
    };
    let opened: () => void = () => undefined;
    const isOpen = new Promise<void>((resolve) => (opened = resolve));
    const over = (async () => {
      for await (const event of listener.listen(options)) {
        heard.push(`${event.type} ${event.data.resourceId}`);
        if (heard.length === 3) stop.abort();
      }
    })();
    await isOpen;
    const ids: number[] = [];
    for (const name of ['l1', 'l2', 'l3']) {
      ids.push((await exchange.post('/advertisers', { body: { name } })).id);
      await until(async () => heard.length === ids.length, 10_000);
    }
    await over;
    expect(heard).toEqual(ids.map((id) => `advertiser.created ${id}`));
    expect([positions.length, positions[0], new Set(positions).size]).toEqual([3, undefined, 3]);
    expect(losses).toBe(2);
    server.closeAllConnections();
    server.close();
  });

  it('ends with an error when the credential is refused', async () => {
    const stranger = createClient({ url: service.baseUrl, apiKey: 'bx_unknown' });
    await expect(stranger.listen().next()).rejects.toMatchObject({ status: 401 });
  });
});

describe('verifyWebhook', () => {
  const body = '{"id":"msg_1","type":"advertiser.created"}';
  const now = new Date();
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const [old, present] = [
    `whsec_${Buffer.from('an old secret of ours').toString('base64')}`,
    'a plain secret, 16+',
  ];
  const signed = (secret: string, sent = body) => {
    const webhook = secret.startsWith('whsec_')
      ? new Webhook(secret)
      : new Webhook(secret, { format: 'raw' });
    return {
      'webhook-id': 'msg_1',
      'webhook-timestamp': timestamp,
      'webhook-signature': webhook.sign('msg_1', now, sent),
    };
  };

  it.each([old, present])('accepts what is signed with %s, as text and bytes', async (secret) => {
    await expect(verifyWebhook(body, signed(secret), [old, present])).resolves.toMatchObject({ id: 'msg_1' });
    await expect(
      verifyWebhook(Buffer.from(body), new Headers(signed(secret)), secret),
    ).resolves.toMatchObject({
      type: 'advertiser.created',
    });
  });

  it('refuses another body, another secret, an old time, another version and a missing header', async () => {
    const refused = async (...given: Parameters<typeof verifyWebhook>) =>
      expect(verifyWebhook(...given)).rejects.toBeInstanceOf(WebhookVerificationError);
    const headers = signed(old);
    await refused(`${body} `, headers, old);
    await refused(body, headers, present);
    await refused(body, headers, old, { nowMs: now.getTime() + 301_000 });
    await refused(body, headers, old, { nowMs: now.getTime() - 302_000 });
    await refused(
      body,
      { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') },
      old,
    );
    await refused(body, { ...headers, 'webhook-signature': 'v1,???' }, old);
    await refused(body, { ...headers, 'webhook-id': 'msg_2' }, old);
    await refused(body, { 'webhook-id': 'msg_1' }, old);
    await expect(verifyWebhook(body, headers, '')).rejects.toBeInstanceOf(TypeError);
    const hex = createHmac('sha256', present).update(`msg_1.${timestamp}.${body}`).digest('hex');
    await refused(body, { ...headers, 'webhook-signature': `v1,${hex}` }, present);
  });
});
