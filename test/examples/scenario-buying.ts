import { addSeller, connectSeller } from '../../command/sellers/commands.ts';
import { createSellerAccount } from '../../app/create-account.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import { gif, png } from '../support/sample-media.ts';
import { withKey, type Send } from './exchanges.ts';
import { DAY_MS, dayOf, HOUR_MS, timeOf, type Scenario } from './scenario.ts';

interface WithId {
  readonly id: string;
}

export const createAdvertisers = async ({ call }: Scenario): Promise<number> => {
  const { id } = await call<{ id: number }>('createAdvertiser', {
    body: {
      name: 'Acme Running',
      description: 'Running shoes for wet streets',
      brand: 'https://www.acme.example',
      sandbox: true,
      primaryCurrency: 'USD',
      preferredTimezone: 'America/New_York',
      channels: ['display', 'olv'],
      brandCountries: ['US'],
      frequencyCaps: [{ max_impressions: 3, window: { interval: 1, unit: 'days' } }],
      utmConfig: [{ paramKey: 'utm_source', paramValue: 'exchange' }],
    },
  });
  await call('updateAdvertiser', {
    path: { id },
    body: { description: 'Running shoes for wet and dry streets', labels: { team: ['growth'] } },
  });
  await call('getAdvertiser', { path: { id } });
  await call('listAdvertisers', { query: { status: 'ACTIVE', take: 10 } });
  const { id: other } = await call<{ id: number }>('createAdvertiser', { body: { name: 'Acme Outdoor' } });
  await call('deleteAdvertiser', { path: { id: other } });
  await call('restoreAdvertiser', { path: { id: other } });
  return id;
};

export const CATALOG = 'running-shoes';

export const measure = async (scenario: Scenario, advertiserId: number): Promise<void> => {
  const { call, startedMs } = scenario;
  const path = { id: advertiserId };
  await call('syncEventSources', {
    path,
    body: {
      account: { account_id: String(advertiserId) },
      event_sources: [
        { event_source_id: 'website', name: 'Web shop', event_types: ['purchase', 'add_to_cart'] },
      ],
    },
  });
  const event = { eventType: 'purchase', currency: 'USD', orderId: 'A-1001', value: 129.9 };
  const eventTime = timeOf(startedMs - HOUR_MS);
  await call('logConversions', {
    path: { key: 'website' },
    body: {
      events: [
        { eventId: 'order-1001', eventTime, ...event },
        { eventId: 'order-1002', eventTime, ...event, orderId: 'A-1002', value: 89.5 },
      ],
    },
  });
  await scenario.until<{ total: number; eventSources: readonly { health: { status: string } }[] }>(
    'listEventSources',
    { path },
    ({ eventSources }) => eventSources[0]?.health.status === 'receiving',
  );
  await call('getEventSource', { path: { key: 'website' }, query: { advertiserId } });
  await scenario.until<{ totalEventCount: number }>(
    'getEventSummary',
    {
      path,
      query: { startHour: timeOf(startedMs - 2 * HOUR_MS), endHour: timeOf(startedMs) },
    },
    ({ totalEventCount }) => totalEventCount === 2,
  );
  await call('getReceivedEvents', { path, query: { eventSourceId: 'website' } });
};

/** @returns the id of the task */
export const syncLists = async ({ call, until }: Scenario, advertiserId: number): Promise<string> => {
  const path = { id: advertiserId };
  const { taskId } = await call<{ taskId: string }>('syncAudiences', {
    path,
    body: {
      audiences: [
        {
          audienceId: 'customers',
          name: 'Customers of the last year',
          consentBasis: 'consent',
          add: [
            {
              externalId: 'customer-1',
              hashedEmail: 'b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514',
            },
          ],
        },
      ],
    },
  });
  await until<{ task: { status: string } }>(
    'getTask',
    { path: { taskId } },
    ({ task }) => task.status === 'completed',
  );
  await call('listAudiences', { path });
  const item = { id: 'trail-42', title: 'Trail 42', price: '129.90 USD' };
  await call('syncCatalogs', {
    path,
    body: {
      account: { account_id: String(advertiserId) },
      catalogs: [{ catalog_id: CATALOG, type: 'product', name: 'Running shoes', items: [item] }],
    },
  });
  await call('listCatalogs', { path, query: { type: 'product' } });
  return taskId;
};

/** Id of the request that syndicates. */
export const SYNDICATION = 'syndicate-customers-0001';

export interface Syndicated {
  readonly agentId: string;
  readonly recordId: string;
}

export const syndicate = async (scenario: Scenario, advertiserId: number): Promise<Syndicated> => {
  const { call, until, agent } = scenario;
  const body = { protocol: 'MCP', auth: { type: 'bearer', token: agent.token }, accountId: 'acme' };
  const { id: agentId } = await call<WithId>('createAdcpAgent', {
    body: { name: 'Nordic Media', url: agent.url, ...body },
  });
  await call('getAdcpAgent', { path: { id: agentId } });
  await call('listAdcpAgents');
  await call('listSalesAgents');
  await call('syndicate', {
    headers: { 'X-Request-Id': SYNDICATION },
    path: { advertiserId: String(advertiserId) },
    body: { resourceType: 'AUDIENCE', resourceId: 'customers', adcpAgentIds: [agentId], enabled: true },
  });
  const { items } = await until<{ items: readonly { id: string | number; status: string }[] }>(
    'querySyndicationStatus',
    { path: { advertiserId: String(advertiserId) }, query: { resourceType: 'AUDIENCE' } },
    ({ items: [first] }) => first?.status === 'COMPLETED',
  );
  const recordId = String(items[0]?.id);
  await call('getSyndicationRecord', { path: { id: advertiserId, recordId } });
  const { id: unused } = await call<WithId>('createAdcpAgent', {
    body: { name: 'Former partner', url: agent.url, ...body },
  });
  await call('deleteAdcpAgent', { path: { id: unused } });
  return { agentId, recordId };
};

export const createCampaigns = async ({ call, startedMs }: Scenario, advertiserId: number) => {
  const { id } = await call<WithId>('createCampaign', {
    body: {
      advertiserId,
      name: 'Autumn launch',
      flight: { startAt: timeOf(startedMs + DAY_MS), endAt: timeOf(startedMs + 31 * DAY_MS) },
      budget: { total: 5_000, currency: 'USD' },
      brief: 'Reach runners in New York who buy shoes online',
    },
  });
  await call('updateCampaign', { path: { id }, body: { budget: { total: 7_500 }, expectedRevision: 1 } });
  await call('getCampaign', { path: { id } });
  await call('listCampaigns', { query: { advertiserId, take: 10 } });
  const other = await call<WithId>('createCampaign', { body: { advertiserId, name: 'Winter launch' } });
  return { campaignId: id, otherCampaignId: other.id };
};

const anyone: Send = (url, init) => fetch(url, init);

interface Reservation {
  readonly assetId: string;
  readonly uploadUrl: string;
}

export const uploadAssets = async ({ call }: Scenario, advertiserId: number): Promise<string> => {
  const path = { id: advertiserId };
  const reserved = async (name: string, mimeType: string, bytes: Buffer) => {
    const { assetId, uploadUrl } = await call<Reservation>('reserveAssetUpload', {
      path,
      body: { name, mimeType, bytes: bytes.length },
    });
    const { pathname, searchParams } = new URL(uploadUrl);
    const request = {
      as: anyone,
      path: { uploadId: pathname.split('/').at(-1) ?? '' },
      query: { token: searchParams.get('token') ?? '' },
      body: new Uint8Array(bytes),
    };
    return { assetId, request };
  };
  const banner = await reserved('banner.png', 'image/png', png(300, 250, 42_000));
  await call('uploadAsset', banner.request);
  const draft = await reserved('draft.gif', 'image/gif', gif(300, 250));
  await call('uploadAssetByPost', draft.request);
  const { storageKey } = await call<{ storageKey: string }>('getAsset', {
    path: { ...path, assetId: banner.assetId },
  });
  await call('listAssets', { path, query: { mediaKind: 'image', take: 10 } });
  await call('readAsset', { as: anyone, path: { storageKey } });
  await call('deleteAsset', { path: { ...path, assetId: draft.assetId } });
  return banner.assetId;
};

export interface Bought {
  readonly advertiserId: number;
  readonly campaignId: string;
  readonly otherCampaignId: string;
  readonly assetId: string;
}

/** @returns the id of the creative */
export const createCreatives = async ({ call }: Scenario, bought: Bought): Promise<string> => {
  const { advertiserId, campaignId, otherCampaignId, assetId } = bought;
  const ofCampaign = { id: campaignId };
  const banner = {
    formatKind: 'image',
    slots: [{ slotId: 'image', kind: 'asset', assetId }],
    clickUrl: 'https://www.acme.example/trail-42',
  };
  const { id: cid } = await call<WithId>('createCampaignCreative', {
    path: ofCampaign,
    body: { name: 'Trail 42 banner', ...banner, copy: { headline: 'Run in the rain' } },
  });
  await call('updateCampaignCreative', {
    path: { ...ofCampaign, cid },
    body: { copy: { headline: 'Run in any weather' }, expectedRevision: 1 },
  });
  await call('getCampaignCreative', { path: { ...ofCampaign, cid } });
  await call('listCampaignCreatives', { path: ofCampaign, query: { search: 'trail' } });
  await call('duplicateCampaignCreative', { path: { ...ofCampaign, cid } });
  const added = await call<WithId>('addCampaignCreative', {
    path: ofCampaign,
    body: { name: 'Trail 42 tag', formatKind: 'display_tag', copy: { tag: '<a href="#">Trail 42</a>' } },
  });
  await call('deleteCampaignCreative', { path: { ...ofCampaign, cid: added.id } });
  const ofAdvertiser = { id: advertiserId };
  const shelved = await call<WithId>('createAdvertiserCreative', {
    path: ofAdvertiser,
    body: { name: 'Brand banner', ...banner },
  });
  await call('saveCreativesToLibrary', {
    path: ofAdvertiser,
    body: { creativeIds: [shelved.id], role: 'evergreen' },
  });
  await call('listAdvertiserCreatives', { path: ofAdvertiser, query: { role: 'evergreen' } });
  const assigned = { ...ofAdvertiser, cid: shelved.id };
  await call('assignCreativeToCampaign', { path: assigned, body: { campaignId: otherCampaignId } });
  await call('unassignCreativeFromCampaign', { path: { ...assigned, campaignId: otherCampaignId } });
  await call('archiveCreative', { path: assigned });
  return cid;
};

export const reviewCreatives = async (scenario: Scenario, cid: string): Promise<void> => {
  const { call, until, service } = scenario;
  await call('listSellers');
  const { taskId } = await call<{ taskId: string }>('submitCreative', {
    path: { cid },
    body: { sellerIds: [1] },
  });
  await until<{ task: { status: string } }>(
    'getTask',
    { path: { taskId } },
    ({ task }) => task.status === 'completed',
  );
  const seller = await createSellerAccount(service.installation, 'Sandbox Web', 1);
  const { submissions } = await call<{ submissions: readonly { revision: number }[] }>(
    'listSellerSubmissions',
    { as: withKey(seller.apiKey), path: { sellerId: 1 } },
  );
  await call('reviewCreative', {
    as: withKey(seller.apiKey),
    path: { cid, sellerId: 1 },
    body: { status: 'approved', expectedRevision: submissions[0]?.revision },
  });
  await until<{ sellerStatuses: readonly { status: string }[] }>(
    'getCreativeDetail',
    { path: { cid } },
    ({ sellerStatuses }) => sellerStatuses[0]?.status === 'approved',
  );
};

export interface Engine {
  readonly id: number;
  readonly connectionId: string;
}

export const connectEngine = async ({ call }: Scenario, advertiserId: number): Promise<Engine> => {
  await call('listCreativeEngines');
  const path = { id: 1 };
  await call('getCreativeEngine', { path });
  const { id: connectionId } = await call<WithId>('connectCreativeEngine', {
    path,
    body: { apiKey: 'sbx_hello-world-0001' },
  });
  const account = { ...path, connectionId, accountId: 'sandbox-1' };
  await call('selectCreativeEngineAccount', { path: account });
  await call('mapCreativeEngineAccount', { path: account, body: { advertiserId } });
  await call('listCreativeEngineConnections', { path });
  const other = await call<WithId>('connectCreativeEngine', {
    path: { id: 2 },
    body: { apiKey: 'display-0001' },
  });
  await call('disconnectCreativeEngine', { path: { id: 2, connectionId: other.id } });
  return { ...path, connectionId };
};

interface Session extends WithId {
  readonly variants: readonly WithId[];
}

/** @returns the id of the session */
export const holdSession = async ({ call }: Scenario, campaignId: string): Promise<string> => {
  const ofCampaign = { id: campaignId };
  const { id: sid } = await call<WithId>('createCreativeSession', {
    path: ofCampaign,
    body: {
      title: 'Wet streets',
      prompt: 'Light running shoes with grip',
      formatKind: 'responsive_creative',
    },
  });
  const path = { ...ofCampaign, sid };
  const { variants } = await call<Session>('getCreativeSession', { path });
  const refined = await call<Session>('refineCreativeSessionVariant', {
    path: { ...path, variantId: variants[0]?.id ?? '' },
    body: { feedback: 'Shorter, and name the shoe', expectedRevision: 1 },
  });
  await call('evaluateCreativeSession', { path, body: { stage: 'copy' } });
  await call('listCreativeSessions', { path: ofCampaign, query: { limit: 10 } });
  await call('finalizeCreativeSession', {
    path,
    body: { variantId: refined.variants.at(-1)?.id ?? '', name: 'Wet streets' },
  });
  return sid;
};

/** @returns the id of the execution */
export const runCampaign = async (scenario: Scenario, bought: Bought, cid: string): Promise<string> => {
  const { call, until, service, sellers, startedMs } = scenario;
  const { campaignId, otherCampaignId, advertiserId } = bought;
  const { store, secrets } = service.installation;
  const { sellerId } = await addSeller({ store, clock }, { name: 'Nordic Media', channels: ['display'] });
  const url = sellers.url('reporting');
  await connectSeller({ store, secrets, clock }, sellerId, { url, protocol: 'MCP', token: undefined });
  const path = { id: campaignId };
  const { executionId } = await call<{ executionId: string }>('requestProposals', {
    path,
    body: { sellerIds: [sellerId] },
  });
  await until<{ status: string }>(
    'getProposalRequest',
    { path: { ...path, executionId } },
    ({ status }) => status !== 'running',
  );
  await call('listProposalRequests', { path });
  await call('executeCampaign', { path });
  // The launch submits it to every seller that shares a channel.
  await until<{ sellerStatuses: readonly unknown[] }>(
    'getCreativeDetail',
    { path: { cid } },
    ({ sellerStatuses }) => sellerStatuses.length === 3,
  );
  await call('pauseCampaign', { path });
  await call('reactivateCampaign', { path });
  await call('deleteCampaign', { path: { id: otherCampaignId } });
  await until<{ rows: readonly { metrics: object }[] }>(
    'getDelivery',
    {
      query: {
        advertiserId: String(advertiserId),
        startDate: dayOf(startedMs - 6 * DAY_MS),
        endDate: dayOf(startedMs),
        dimensions: 'campaign',
      },
    },
    ({ rows }) => rows.some(({ metrics }) => 'impressions' in metrics),
  );
  return executionId;
};
