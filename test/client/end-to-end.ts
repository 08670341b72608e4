import { createClient, ExchangeError } from '../../client/src/index.ts';

/**
 * The whole order of a newcomer, from sign-up to the audit log, with nothing but the client. The suite of the package
 * compiles it against the installed package, and runs it once.
 */

declare const process: { readonly argv: readonly string[] };
declare const console: { log(text: string): void };

const [, , url = '', agentUrl = '', token = ''] = process.argv;
const steps: string[] = [];
const step = (name: string, isSo: boolean): void => {
  if (!isSo) throw new Error(`${name} is not as expected`);
  steps.push(name);
};
const until = async (isDone: () => Promise<boolean>): Promise<void> => {
  for (let tried = 0; !(await isDone()); tried += 1) {
    if (tried === 300) throw new Error('it takes too long');
    await new Promise((next) => setTimeout(next, 100));
  }
};

// As a browser does: it keeps the cookie, and names the origin of its page.
let cookie = '';
const person = createClient({
  url,
  fetch: async (input, init) => {
    const request = new Request(input, init);
    request.headers.set('Origin', url);
    if (cookie !== '') request.headers.set('Cookie', cookie);
    const response = await fetch(request);
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    return response;
  },
});
const account = await person.post('/auth/signup', {
  body: { email: 'jane@example.com', password: 'a long enough password', company: 'Acme' },
});
step('sign-up', 'customerId' in account);
const { key } = await person.post('/api-keys', { body: { name: 'end to end' } });
step('API key', key.startsWith('bx_'));

const exchange = createClient({ url, apiKey: key });
const advertiser = await exchange.post('/advertisers', { body: { name: 'Acme Shoes', sandbox: true } });
const ofAdvertiser = { path: { id: advertiser.id } };
step('advertiser', advertiser.status === 'ACTIVE');
await exchange.post('/advertisers/{id}/event-sources/sync', {
  params: ofAdvertiser,
  body: { account: { account_id: String(advertiser.id) }, event_sources: [{ event_source_id: 'shop' }] },
});
step(
  'event source',
  (await exchange.page('/advertisers/{id}/event-sources', { params: ofAdvertiser })).total === 1,
);
const logged = await exchange.post('/event-sources/{key}/events', {
  params: { path: { key: 'shop' } },
  body: {
    events: [{ eventId: 'order-1', eventTime: new Date().toISOString(), value: 49.9, currency: 'USD' }],
  },
});
step('conversions', logged.accepted === 1);
const { taskId } = await exchange.post('/advertisers/{id}/audiences/sync', {
  params: ofAdvertiser,
  body: { audiences: [{ audienceId: 'customers', add: [{ externalId: '1', hashedEmail: 'a'.repeat(64) }] }] },
});
await until(async () => {
  const { task } = await exchange.get('/tasks/{taskId}', { params: { path: { taskId } } });
  return task.status === 'completed';
});
step('audience', true);
const agent = await exchange.post('/adcp-agents', {
  body: { name: 'Agent', url: agentUrl, protocol: 'MCP', auth: { type: 'bearer', token }, accountId: 'acme' },
});
step('agent', agent.name === 'Agent');
await exchange.post('/advertisers/{advertiserId}/syndicate', {
  params: { path: { advertiserId: String(advertiser.id) } },
  body: { resourceType: 'AUDIENCE', resourceId: 'customers', adcpAgentIds: [agent.id], enabled: true },
});
const records = { params: { path: { advertiserId: String(advertiser.id) } } };
await until(async () => {
  const { items } = await exchange.get('/advertisers/{advertiserId}/syndication-status', records);
  return items[0]?.status === 'COMPLETED';
});
step('syndication', true);
const campaign = await exchange.post('/campaigns', {
  body: { advertiserId: advertiser.id, name: 'Autumn', budget: { total: 5_000, currency: 'USD' } },
});
step('campaign', campaign.phase === 'draft');

const pixel = Uint8Array.from(atob('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'), (c) =>
  c.charCodeAt(0),
);
const { assetId } = await exchange.uploadAsset(advertiser.id, {
  name: 'pixel.gif',
  mimeType: 'image/gif',
  bytes: pixel,
});
const assets = await exchange.page('/advertisers/{id}/assets', { params: ofAdvertiser });
step('upload and assets', assets.items[0]?.id === assetId);
const ofCampaign = { path: { id: campaign.id } };
const creative = await exchange.post('/campaigns/{id}/creatives/create', {
  params: ofCampaign,
  body: {
    name: 'Banner',
    formatKind: 'image',
    slots: [{ slotId: 'image', kind: 'asset', assetId }],
    clickUrl: 'https://www.example.com/',
  },
});
step('creative', creative.name === 'Banner');
const [seller] = (await exchange.page('/sellers')).items;
const sellerId = seller?.sellerId ?? 0;
const ofCreative = { params: { path: { cid: creative.id } } };
await exchange.post('/creatives/{cid}/submit', { ...ofCreative, body: { sellerIds: [sellerId] } });
const submitted = await exchange.get('/creatives/{cid}/detail', ofCreative);
step('submit', submitted.sellerStatuses.length === 1);
await exchange.put('/creatives/{cid}/sellers/{sellerId}/review', {
  params: { path: { cid: creative.id, sellerId } },
  body: { status: 'approved' },
});
const { sellerStatuses } = await exchange.get('/creatives/{cid}/detail', ofCreative);
step('detail', sellerStatuses[0]?.status === 'approved');
const copy = await exchange.post('/campaigns/{id}/creatives/{cid}/duplicate', {
  params: { path: { id: campaign.id, cid: creative.id } },
});
step('duplicate', copy.name === 'Banner (copy)');
const session = await exchange.post('/campaigns/{id}/creative-sessions', {
  params: ofCampaign,
  body: { title: 'Runners', prompt: 'Light shoes for wet streets', formatKind: 'image' },
});
const sessions = await exchange.page('/campaigns/{id}/creative-sessions', { params: ofCampaign });
step('sessions', sessions.items[0]?.id === session.id);
const [engine] = (await exchange.page('/creative-engines')).items;
const connection = await exchange.post('/creative-engines/{id}/connections', {
  params: { path: { id: engine?.id ?? 0 } },
  body: { apiKey: 'sbx_0123456789abcdef' },
});
step('engine', connection.credential.maskedKey === '****cdef');
let count = 0;
for await (const log of exchange.items('/audit-logs', { params: { query: { take: 10 } } }))
  if (log.id !== '') count += 1;
step('audit log', count > 10);
const missing = await exchange
  .get('/campaigns/{id}', { params: { path: { id: 'cmp_none' } } })
  .catch((e: unknown) => e);
step('an error', missing instanceof ExchangeError && missing.code === 'NOT_FOUND');
console.log(steps.join(', '));
