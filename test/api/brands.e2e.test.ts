import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createFindBrand } from '../../command/brands/find-brand.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { createLog } from '../../app/log.ts';
import { createOutboundFetch, type OutboundFetch } from '../../shared/outbound/outbound-fetch.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** The brand details of an advertiser, read from `brand.json` at the brand's domain. */

const WITHIN_MS = 1_000;

/** The answer of each domain; the default is 404. */
let pages: Record<string, (response: ServerResponse) => void> = {};
let asked: string[] = [];
const brandServer = createServer((request: IncomingMessage, response: ServerResponse) => {
  const address = (request.url ?? '').slice(1);
  asked.push(address);
  const page = pages[address.replace('/.well-known/brand.json', '')];
  if (page === undefined) response.writeHead(404).end();
  else page(response);
});
const json =
  (manifest: unknown) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(manifest));
  };
/** The service's own fetch, with the local server in place of every domain. */
const localFetch: OutboundFetch = (target, init) => {
  const { hostname, pathname } = new URL(target);
  const { port } = brandServer.address() as AddressInfo;
  const options = { allowLoopback: true, timeoutMs: WITHIN_MS, bytesMax: 256 * 1024 };
  return createOutboundFetch(options)(`http://127.0.0.1:${port}/${hostname}${pathname}`, init);
};

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  await new Promise<void>((resolve) => brandServer.listen(0, '127.0.0.1', resolve));
  service = await startRunningService({ BRAND_LOOKUP_MS: String(WITHIN_MS) }, createLog('silent'), {
    brandFetch: localFetch,
  });
  account = await service.openAccount();
});
beforeEach(() => {
  pages = {};
  asked = [];
});
afterAll(async () => {
  await service.stop();
  brandServer.closeAllConnections();
  brandServer.close();
});

const create = async (brand: string): Promise<AdvertiserResource> => {
  const { status, body } = await account.api.post<AdvertiserResource>('/advertisers', {
    name: 'Acme',
    brand,
  });
  expect(status).toBe(201);
  return body.data;
};
const update = async (id: number, body: object): Promise<AdvertiserResource> =>
  (await account.api.put<AdvertiserResource>(`/advertisers/${id}`, body)).body.data;

const acme = {
  house: { domain: 'acme-house.com', name: 'Acme House' },
  brands: [
    { id: 'other', url: 'https://other.example', names: [{ en: 'Other' }] },
    {
      id: 'acme',
      url: 'https://www.acme.com/home',
      names: [{ de_DE: 'Akme' }, { en_US: 'Acme' }],
      industries: ['retail', 'cpg'],
      tagline: [{ en_US: 'Just walk' }],
      logos: [{ url: 'http://cdn.acme.com/plain.png' }, { url: 'https://cdn.acme.com/logo.png' }],
      colors: { primary: '#FF6600', secondary: ['#0066CC', '#FF6600'], text: 'red' },
    },
  ],
};
const acmeBrand = {
  domain: 'acme.com',
  name: 'Acme',
  logoUrl: 'https://cdn.acme.com/logo.png',
  industry: 'retail',
  tagline: 'Just walk',
  colors: ['#FF6600', '#0066CC'],
};

describe('a linked brand', () => {
  it('keeps the details of the portfolio at its domain', async () => {
    pages['acme.com'] = json(acme);
    const { id, linkedBrand } = await create('https://www.acme.com/');
    expect(linkedBrand).toEqual(acmeBrand);
    expect(asked).toEqual(['acme.com/.well-known/brand.json']);
    pages = {};
    const read = await account.api.get<AdvertiserResource>(`/advertisers/${id}`);
    expect(read.body.data.linkedBrand).toEqual(acmeBrand);
    const [event] = await service.eventsOf(`advertiser-${account.customerId}-${id}`);
    expect(event?.data).toMatchObject({ brandDomain: 'acme.com', linkedBrand: acmeBrand });
    expect(asked.length).toBe(1);
  });

  it('has the details at the top of a manifest with a single brand', async () => {
    const { name, logoUrl, industry, tagline, colors } = acmeBrand;
    pages['acme.com'] = json({ name, logos: [{ url: logoUrl }], industry, tagline, colors });
    expect((await create('acme.com')).linkedBrand).toEqual(acmeBrand);
  });

  it('is read from the manifest that the first one refers to, one level deep', async () => {
    pages['acme.com'] = json({ house: 'acme-house.com' });
    pages['acme-house.com'] = json(acme);
    expect((await create('acme.com')).linkedBrand).toEqual(acmeBrand);
    pages['acme.com'] = json({ authoritative_location: 'https://cdn.example/brand.json' });
    pages['cdn.example/brand.json'] = json(acme);
    expect((await create('acme.com')).linkedBrand).toEqual(acmeBrand);
    pages['acme.com'] = json({ house: 'acme.com' });
    expect((await create('acme.com')).linkedBrand).toEqual({ domain: 'acme.com', name: 'acme.com' });
    expect(asked.length).toBe(6);
  });

  it('is fetched when an update links another brand, and only then', async () => {
    pages['acme.com'] = json(acme);
    const { id } = await create('plain.example');
    asked = [];
    expect((await update(id, { name: 'New' })).linkedBrand).toEqual({
      domain: 'plain.example',
      name: 'plain.example',
    });
    expect(asked).toEqual([]);
    expect((await update(id, { brand: 'acme.com' })).linkedBrand).toEqual(acmeBrand);
    expect(asked.length).toBe(1);
    // An update with the same brand keeps the details, although the server no longer answers.
    pages = {};
    const again = await update(id, { brand: 'https://acme.com' });
    expect([again.linkedBrand, asked.length]).toEqual([acmeBrand, 1]);
    const events = await service.eventsOf(`advertiser-${account.customerId}-${id}`);
    expect(events.map(({ type }) => type)).toEqual([
      'AdvertiserCreated',
      'AdvertiserUpdated',
      'AdvertiserUpdated',
    ]);
  });

  it('is the same for a repeated request, even if the manifest has changed', async () => {
    pages['acme.com'] = json(acme);
    const send = () =>
      account.api.post<AdvertiserResource>(
        '/advertisers',
        { name: 'Acme', brand: 'acme.com' },
        { 'Idempotency-Key': 'the-brand-of-one-request' },
      );
    const first = await send();
    pages = {};
    await service.pool.query(
      `update idempotency_keys set completed_at = null, status = null, body = null, lease_until = now()
       where key = 'the-brand-of-one-request'`,
    );
    const again = await send();
    expect([again.text, again.body.data.linkedBrand]).toEqual([first.text, acmeBrand]);
  });
});

describe('a brand has only its domain', () => {
  const bare = { domain: 'acme.com', name: 'acme.com' };

  it.each<readonly [string, (response: ServerResponse) => void]>([
    ['has no manifest', (response) => response.writeHead(404).end('{}')],
    ['fails', (response) => response.writeHead(500).end()],
    ['redirects', (response) => response.writeHead(302, { Location: 'https://other.example/' }).end()],
    ['sends no JSON', (response) => response.end('<html>')],
    ['sends null', json(null)],
    ['sends a list', json([acme])],
    ['sends too much', (response) => response.end(JSON.stringify({ name: 'x'.repeat(300_000) }))],
    ['sends members of other types', json({ name: 7, logos: 'x', colors: { a: {} }, brands: 'none' })],
    ['closes the connection', (response) => void response.write('{"name":', () => response.destroy())],
    ['never answers', () => undefined],
    ['never ends', (response) => void response.write('{"name":"Acme"')],
  ])('when its server %s', async (_what, page) => {
    pages['acme.com'] = page;
    expect((await create('acme.com')).linkedBrand).toEqual(bare);
  });

  it('when the manifest refers to an address in a private network, which is never contacted', async () => {
    const { port } = brandServer.address() as AddressInfo;
    pages['inside'] = json({ name: 'Inside' });
    const guarded = createOutboundFetch({ allowLoopback: false, timeoutMs: WITHIN_MS, bytesMax: 1_000 });
    for (const place of [`http://127.0.0.1:${port}/inside`, `http://localhost:${port}/inside`]) {
      pages['acme.com'] = json({ authoritative_location: place });
      asked = [];
      const fetch: OutboundFetch = (url, init) => (asked.length === 0 ? localFetch : guarded)(url, init);
      expect(await createFindBrand(fetch, WITHIN_MS)('acme.com')).toEqual(bare);
      expect(asked).toEqual(['acme.com/.well-known/brand.json']);
    }
  });

  it('when brand fetching is off, as it is by default', async () => {
    const silent = await startRunningService({}, createLog('silent'), { brandFetch: localFetch });
    pages['acme.com'] = json(acme);
    const { api } = await silent.openAccount();
    const { body } = await api.post<AdvertiserResource>('/advertisers', { name: 'A', brand: 'acme.com' });
    await api.put(`/advertisers/${body.data.id}`, { brand: 'other.example' });
    expect([body.data.linkedBrand, asked]).toEqual([bare, []]);
    await silent.stop();
  });
});

describe('text of a manifest', () => {
  it('is cleaned and cut to its limits', async () => {
    pages['acme.com'] = json({
      name: ` Ac\u0000me\n\u202etxt.exe\ud800 ${'😀'.repeat(300)}`,
      tagline: '\u2028',
      industry: 'x'.repeat(1_000),
      logos: [
        { url: 'javascript:alert(1)' },
        { url: 'https:cdn.acme.com/a.png' },
        { url: 'https://user:secret@cdn.acme.com/a.png' },
        { url: `https://cdn.acme.com/${'x'.repeat(3_000)}` },
        { url: 'https://cdn.acme.com/b.png' },
      ],
      colors: ['#fff', 'url(x)', ...Array.from({ length: 100 }, (_, n) => `#0000${10 + (n % 90)}`)],
    });
    const { linkedBrand } = await create('acme.com');
    expect(linkedBrand).toEqual({
      domain: 'acme.com',
      name: expect.stringMatching(/^Ac me txt\.exe\ufffd 😀+$/u),
      industry: 'x'.repeat(200),
      logoUrl: 'https://cdn.acme.com/b.png',
      colors: expect.arrayContaining(['#fff', '#000010']),
    });
    expect([Array.from(linkedBrand?.name ?? '').length, linkedBrand?.colors?.length]).toEqual([200, 20]);
  });
});
