import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { blue, green, red } from './pictures.ts';
import { StumbledError, TOOLS, type Guide } from './guide.ts';

export interface Agent {
  readonly url: string;
  readonly token: string;
  /** The seller whose agent it also is. Absent on a service of others, whose sellers the tour does not ask. */
  readonly sellerId: number | undefined;
}

const Anything = z.unknown();
const WithId = z.object({ id: z.string() });
const Advertiser = z.object({ id: z.number(), name: z.string() });
const Reservation = z.object({ assetId: z.string(), uploadUrl: z.string() });
const Uploaded = z.object({ assetId: z.string(), bytes: z.number() });
const Task = z.object({ task: z.object({ status: z.string() }) });
const Sessions = z.object({
  sessions: z.array(
    z.strictObject({
      id: z.string(),
      campaignId: z.string(),
      title: z.string(),
      status: z.string(),
      revision: z.number(),
      updatedAt: z.string(),
    }),
  ),
  nextCursor: z.string().optional(),
});
const Records = z.object({
  items: z.array(z.object({ status: z.string(), enabled: z.boolean() })),
  total: z.number(),
});
const Holdings = z.object({
  accounts: z.array(z.object({ account: z.unknown(), audiences: z.array(z.unknown()) })),
});
const RegisteredAgent = z.object({ id: z.string(), status: z.string(), statusReason: z.string().optional() });
const Logged = z.object({
  accepted: z.number(),
  duplicates: z.number(),
  rejected: z.array(z.object({ index: z.number(), reason: z.string() })),
});

const expectThat = (isSo: boolean, otherwise: string): void => {
  if (!isSo) throw new StumbledError(otherwise);
};

/** Calls the 14 endpoints in order of dependency. @throws StumbledError for an unexpected answer */
export const walk = async (guide: Guide, agent: Agent): Promise<void> => {
  const { chapter } = guide;
  await chapter('The sandbox agent');
  const registered = await prepare(guide, agent);
  await chapter('Campaigns and creative sessions');
  const { advertiserId, campaignId } = await sessions(guide);
  await chapter('Advertisers');
  await advertisers(guide);
  await chapter('Creative engines');
  await engine(guide);
  await chapter('Syndication to an agent');
  await syndication(guide, advertiserId, registered);
  await chapter('The asset library');
  const { assetId } = await library(guide, advertiserId);
  await chapter('Creatives and sellers');
  await creatives(guide, campaignId, assetId);
  await chapter('Uploads');
  await uploads(guide, advertiserId);
  await chapter('Conversion events');
  await conversions(guide, advertiserId);
  await chapter('History');
  await past(guide);
  await chapter('Tools for agents');
  await tools(guide, advertiserId, agent.sellerId);
};

export const CHAPTERS = 11;

interface TourAgent {
  readonly id: string;
  readonly url: string;
  readonly accountId: string;
}

/** Checks before it creates anything. @throws StumbledError naming the obstacle */
const prepare = async ({ tell, ask, until }: Guide, { url, token }: Agent): Promise<TourAgent> => {
  tell('First the sandbox agent, which the tour needs later: it runs, and the service may connect to it.');
  await ask('GET', `${url}/`, Holdings).catch((error: unknown) => {
    if (error instanceof StumbledError) throw error;
    throw new StumbledError(
      `nothing answers at ${url}. Start the agent with \`npm run -s sandbox-agent\`, or name it with --agent`,
    );
  });
  const accountId = `tour-${randomUUID()}`;
  const { id } = await ask('POST', '/adcp-agents', RegisteredAgent, {
    body: {
      name: 'Sandbox agent',
      url: `${url}/mcp`,
      protocol: 'MCP',
      auth: { type: 'bearer', token },
      accountId,
    },
    status: 201,
  });
  // The service checks an agent that did not answer immediately again after a second.
  await until(`/adcp-agents/${id}`, RegisteredAgent, ({ status }) => status === 'ACTIVE');
  return { id, url, accountId };
};

const sessions = async ({ tell, ask }: Guide) => {
  tell('A sandbox advertiser, a campaign, and two sessions in which creatives are to be made:');
  const { id: advertiserId } = await ask('POST', '/advertisers', Advertiser, {
    body: { name: 'Tour Shoes', sandbox: true },
    status: 201,
    endpoint: 2,
  });
  const { id: campaignId } = await ask('POST', '/campaigns', WithId, {
    body: { advertiserId, name: 'Autumn', budget: { total: 5_000, currency: 'USD' } },
    status: 201,
  });
  for (const title of ['Runners', 'Walkers']) {
    await ask('POST', `/campaigns/${campaignId}/creative-sessions`, WithId, {
      body: { title, prompt: 'Light shoes for wet streets', formatKind: 'image' },
      status: 201,
    });
  }
  tell('1. List a campaign’s creative sessions, a page at a time:');
  const path = `/campaigns/${campaignId}/creative-sessions?limit=1`;
  const first = await ask('GET', path, Sessions, { endpoint: 1 });
  const cursor = encodeURIComponent(first.nextCursor ?? '');
  const second = await ask('GET', `${path}&cursor=${cursor}`, Sessions, { endpoint: 1 });
  const titles = [...first.sessions, ...second.sessions].map(({ title }) => title);
  expectThat(titles.join() === 'Walkers,Runners', `the pages hold ${titles.join()}`);
  return { advertiserId, campaignId };
};

const advertisers = async ({ tell, ask }: Guide): Promise<void> => {
  tell('2. Create an advertiser. The key makes it safe to send again: the same answer comes back.');
  const create = {
    body: { name: 'Acme', brand: 'https://www.acme.com', primaryCurrency: 'EUR', channels: ['display'] },
    headers: { 'Idempotency-Key': `tour-${randomUUID()}` },
    status: 201,
    endpoint: 2,
  };
  const { id } = await ask('POST', '/advertisers', Advertiser, create);
  const again = await ask('POST', '/advertisers', Advertiser, create);
  expectThat(again.id === id, 'the repeat made another advertiser');
  tell('3. Update it: what is left out stays.');
  const changed = await ask('PUT', `/advertisers/${id}`, Advertiser, {
    body: { name: 'Acme Shoes', frequencyCaps: [{ max_impressions: 3, window: { interval: 60 } }] },
    endpoint: 3,
  });
  expectThat(changed.name === 'Acme Shoes', 'the name is the old one');
  tell('4. List advertisers:');
  const listed = await ask('GET', '/advertisers?status=ACTIVE&take=5&skip=0', z.array(Advertiser), {
    endpoint: 4,
  });
  expectThat(listed[0]?.id === id, 'the list does not begin with the newest');
};

const engine = async ({ tell, ask }: Guide): Promise<void> => {
  tell('5. Connect a creative engine with one’s own key, which comes back masked only:');
  const Engine = z.object({ id: z.number(), name: z.string() });
  const engines = await ask('GET', '/creative-engines', z.array(Engine));
  const sandbox = engines.find(({ name }) => name === 'Sandbox Engine');
  if (sandbox === undefined) throw new StumbledError('there is no Sandbox Engine');
  const apiKey = `sbx_${randomUUID()}`;
  const Connection = z.object({ credential: z.object({ maskedKey: z.string() }) });
  const { credential } = await ask('POST', `/creative-engines/${sandbox.id}/connections`, Connection, {
    body: { apiKey },
    // 200 when the account was connected before: the key is replaced.
    status: [200, 201],
    endpoint: 5,
  });
  expectThat(credential.maskedKey === `****${apiKey.slice(-4)}`, 'the key is not masked as it should be');
};

const syndication = async (
  guide: Guide,
  advertiserId: number,
  { id: agentId, url, accountId }: TourAgent,
): Promise<void> => {
  const { tell, ask, until } = guide;
  tell('An audience of hashed identifiers, taken in by a task:');
  const hashedEmail = createHash('sha256').update('jane@example.com').digest('hex');
  const { taskId } = await ask(
    'POST',
    `/advertisers/${advertiserId}/audiences/sync`,
    z.object({ taskId: z.string() }),
    {
      body: { audiences: [{ audienceId: 'customers', add: [{ externalId: 'crm-1', hashedEmail }] }] },
      status: 202,
    },
  );
  await until(`/tasks/${taskId}`, Task, ({ task }) => task.status === 'completed');
  const status = `/advertisers/${advertiserId}/syndication-status?resourceType=AUDIENCE&resourceId=customers`;
  const toggle = (enabled: boolean) =>
    ask('POST', `/advertisers/${advertiserId}/syndicate`, z.array(WithId), {
      body: { resourceType: 'AUDIENCE', resourceId: 'customers', adcpAgentIds: [agentId], enabled },
      status: 201,
      endpoint: 6,
    });
  const isAt = (wanted: string) => (records: z.infer<typeof Records>) => records.items[0]?.status === wanted;
  tell('6. Switch its syndication on:');
  await toggle(true);
  await until(status, Records, isAt('COMPLETED'));
  tell('7. A moment later it is there; at the agent, too:');
  await ask('GET', status, Records, { endpoint: 7 });
  await ask('GET', `${url}/`, Holdings);
  tell('Switched off, it is DISABLED at once, and then gone at the agent:');
  await toggle(false);
  const off = await ask('GET', `${status}&enabled=false&status=DISABLED`, Records, { endpoint: 7 });
  expectThat(off.total === 1, 'it is not DISABLED');
  const own = JSON.stringify({ account_id: accountId });
  await until(`${url}/`, Holdings, ({ accounts }) =>
    accounts.every(({ account, audiences }) => JSON.stringify(account) !== own || audiences.length === 0),
  );
  await ask('GET', `${url}/`, Holdings);
};

const reserve = ({ ask }: Guide, advertiserId: number, name: string, bytes: Uint8Array) =>
  ask('POST', `/advertisers/${advertiserId}/assets/uploads`, Reservation, {
    body: { name, mimeType: 'image/png', bytes: bytes.length },
    status: 201,
  });

const library = async (guide: Guide, advertiserId: number): Promise<{ readonly assetId: string }> => {
  const { tell, ask } = guide;
  tell('A picture, sent to the signed address that its reservation gives:');
  const { assetId, uploadUrl } = await reserve(guide, advertiserId, 'blue.png', blue);
  await ask('PUT', uploadUrl, Uploaded, { bytes: blue, endpoint: 12 });
  tell('8. List the assets of an advertiser’s library:');
  const Asset = z.object({ id: z.string(), width: z.number(), height: z.number() });
  const assets = await ask('GET', `/advertisers/${advertiserId}/assets?mediaKind=image`, z.array(Asset), {
    endpoint: 8,
  });
  expectThat(assets[0]?.id === assetId && assets[0].width === 300, 'the picture is not in the library');
  return { assetId };
};

const creatives = async ({ tell, ask, until }: Guide, campaignId: string, assetId: string): Promise<void> => {
  tell('A creative with the picture, submitted to a seller, who approves it:');
  const { id } = await ask('POST', `/campaigns/${campaignId}/creatives/create`, WithId, {
    body: {
      name: 'Banner',
      formatKind: 'image',
      slots: [{ slotId: 'image', kind: 'asset', assetId }],
      clickUrl: 'https://www.acme.com/autumn',
    },
    status: 201,
  });
  const sellers = await ask('GET', '/sellers', z.array(z.object({ sellerId: z.number() })));
  const sellerId = sellers[0]?.sellerId;
  const { taskId } = await ask('POST', `/creatives/${id}/submit`, z.object({ taskId: z.string() }), {
    body: { sellerIds: [sellerId] },
    status: 202,
  });
  await ask('PUT', `/creatives/${id}/sellers/${sellerId}/review`, Anything, { body: { status: 'approved' } });
  await until(`/tasks/${taskId}`, Task, ({ task }) => task.status === 'completed');
  tell('9. The detail of a creative, with its assets, campaigns and what sellers say:');
  const Detail = z.object({
    assets: z.array(z.object({ assetId: z.string() })),
    campaigns: z.array(z.object({ campaignId: z.string() })),
    sellerStatuses: z.array(z.object({ status: z.string() })),
  });
  const detail = await ask('GET', `/creatives/${id}/detail`, Detail, { endpoint: 9 });
  expectThat(detail.sellerStatuses[0]?.status === 'approved', 'the seller has not approved it');
  tell('10. Duplicate it:');
  const Named = z.object({ id: z.string(), name: z.string(), state: z.string() });
  const copy = await ask('POST', `/campaigns/${campaignId}/creatives/${id}/duplicate`, Named, {
    status: 201,
    endpoint: 10,
  });
  expectThat(copy.name === 'Banner (copy)', `the copy is named ${copy.name}`);
  tell('11. Get a creative of a campaign:');
  await ask('GET', `/campaigns/${campaignId}/creatives/${copy.id}`, Named, { endpoint: 11 });
};

const uploads = async (guide: Guide, advertiserId: number): Promise<void> => {
  const { tell, ask } = guide;
  for (const [endpoint, method, name, bytes] of [
    [12, 'PUT', 'green.png', green],
    [13, 'POST', 'red.png', red],
  ] as const) {
    tell(`${endpoint}. Upload the bytes of an asset with ${method}. The signed address is the credential:`);
    const { assetId, uploadUrl } = await reserve(guide, advertiserId, name, bytes);
    const uploaded = await ask(method, uploadUrl, Uploaded, { bytes, endpoint });
    expectThat(uploaded.assetId === assetId && uploaded.bytes === bytes.length, 'not all bytes are there');
  }
};

const past = async ({ tell, ask }: Guide): Promise<void> => {
  tell('Everything that changes keeps its history. An advertiser that changes three times:');
  const { id } = await ask('POST', '/advertisers', Advertiser, { body: { name: 'Bootmaker' }, status: 201 });
  for (const body of [{ name: 'Boots & Co' }, { channels: ['ctv'] }, { name: 'Boots and Sons' }]) {
    await ask('PUT', `/advertisers/${id}`, Advertiser, { body });
  }
  tell('Its events, with what each has changed, who did it, and in which request:');
  const Events = z.object({ events: z.array(z.object({ revision: z.number(), type: z.string() })) });
  const { events } = await ask('GET', `/advertisers/${id}/history`, Events);
  expectThat(events.length === 4, `it has ${events.length} events`);
  tell('Why it is called so: the event that set the name.');
  const Explained = z.object({
    members: z.array(z.object({ value: z.unknown(), setBy: z.object({ revision: z.number() }) })),
  });
  const { members } = await ask('GET', `/advertisers/${id}/explain?path=/name`, Explained);
  const name = members[0];
  expectThat(
    name?.value === 'Boots and Sons' && name.setBy.revision === 4,
    'the name is explained otherwise',
  );
  tell('The advertiser as it was after its second event; a time would do as well:');
  const then = await ask('GET', `/advertisers/${id}?asOf=2`, Advertiser);
  expectThat(then.name === 'Boots & Co', `it was called ${then.name}`);
  tell('What is different between then and now:');
  const Difference = z.object({
    changes: z.array(z.object({ path: z.string(), before: Anything.optional(), after: Anything.optional() })),
  });
  const { changes } = await ask('GET', `/advertisers/${id}/diff?from=2`, Difference);
  const renamed = changes.find(({ path }) => path === '/name');
  expectThat(
    renamed?.before === 'Boots & Co' && renamed.after === 'Boots and Sons',
    'the diff does not show both names',
  );
};

const PROTOCOL = '2026-07-28';

type CallTool = <T>(name: string, given: object, schema: z.ZodType<T>) => Promise<T>;

/** Clients of the Model Context Protocol send this for their user. */
const toolsOf = ({ ask }: Guide): CallTool => {
  const Result = z.object({ result: z.object({ structuredContent: z.looseObject({}) }) });
  return async (name, given, schema) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': PROTOCOL,
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'tour', version: '1.0.0' },
    };
    const headers = {
      Accept: 'application/json, text/event-stream',
      'Mcp-Protocol-Version': PROTOCOL,
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
    };
    const params = { name, arguments: given, _meta };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const { result } = await ask('POST', TOOLS, Result, { body, headers });
    return schema.parse(result.structuredContent);
  };
};

const tools = async (guide: Guide, advertiserId: number, sellerId: number | undefined): Promise<void> => {
  const { tell } = guide;
  const call = toolsOf(guide);
  tell('An AI agent uses the same exchange as tools. It plans a campaign:');
  const Saved = z.object({ action: z.string(), object: z.object({ id: z.string() }) });
  const { action, object } = await call(
    'save_campaign',
    { advertiserId, name: 'Autumn', brief: 'Reach hikers', idempotencyKey: `tour-${randomUUID()}` },
    Saved,
  );
  expectThat(action === 'created', `the campaign was ${action}`);
  tell('And it can say who wrote the brief: itself.');
  const Explained = z.object({
    members: z.array(z.object({ value: z.unknown(), setBy: z.object({ actorOrigin: z.string() }) })),
  });
  const { members } = await call('explain', { kind: 'campaign', id: object.id, path: '/brief' }, Explained);
  expectThat(members[0]?.setBy.actorOrigin === 'MCP', 'the brief is explained otherwise');
  if (sellerId !== undefined) await proposals(guide, call, object.id, sellerId);
};

/** `mb-` and so on are the sandbox agent's own words, like everything that sellers say. */
const proposals = async (
  { tell, until }: Guide,
  call: CallTool,
  campaignId: string,
  sellerId: number,
): Promise<void> => {
  tell('It asks a seller for proposals. The answer does not wait for the seller:');
  const Round = z.object({
    executionId: z.string(),
    status: z.string(),
    perSeller: z.array(z.object({ status: z.string(), proposalIds: z.array(z.string()) })),
  });
  const asked = { campaignId, sellerIds: [sellerId], idempotencyKey: `tour-${randomUUID()}` };
  const { executionId } = await call('request_proposals', asked, Round);
  await until(
    `/campaigns/${campaignId}/proposal-requests/${executionId}`,
    Round,
    ({ status }) => status !== 'running',
  );
  tell('The same call again, once the round has ended: the seller has quoted a proposal.');
  const { perSeller } = await call('request_proposals', asked, Round);
  expectThat(perSeller[0]?.proposalIds.length === 1, 'the seller has quoted no proposal');
  tell('The sandbox agent buys what it offers. Soon it reports what the media buy delivered:');
  const Report = z.object({
    rows: z.array(z.object({ metrics: z.object({ impressions: z.number(), spend: z.number() }) })),
  });
  const path = `/reporting/delivery?campaignId=${campaignId}&dimensions=campaign`;
  await until(path, Report, ({ rows }) => rows.length > 0);
  const filters = { filters: { campaignId }, dimensions: ['campaign', 'seller'] };
  const { rows } = await call('get_delivery', filters, Report);
  const { impressions = 0, spend = 0 } = rows[0]?.metrics ?? {};
  expectThat(impressions === 12_400, 'the delivery is reported otherwise');
  tell(`Today, for this campaign: ${impressions} impressions, ${spend} USD.`);
};

const conversions = async ({ tell, ask }: Guide, advertiserId: number): Promise<void> => {
  tell('An event source:');
  await ask('POST', `/advertisers/${advertiserId}/event-sources/sync`, Anything, {
    body: { account: { account_id: String(advertiserId) }, event_sources: [{ event_source_id: 'shop' }] },
  });
  tell('14. Log conversion events: a new one, one that was sent before, a broken one.');
  const order = (eventId: string) => ({
    eventId,
    eventTime: new Date().toISOString(),
    eventType: 'purchase',
    value: 49.9,
    currency: 'USD',
  });
  const log = (events: readonly unknown[]) =>
    ask('POST', '/event-sources/shop/events', Logged, { body: { advertiserId, events }, endpoint: 14 });
  await log([order('order-1')]);
  const broken = { eventId: 'order-3', eventTime: 'yesterday' };
  const { accepted, duplicates, rejected } = await log([order('order-2'), order('order-1'), broken]);
  expectThat(
    accepted === 1 && duplicates === 1 && rejected[0]?.index === 2,
    'the three counts are not one each',
  );
};
