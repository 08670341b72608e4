import { z } from 'zod';
import type { RouteSubject } from './command/audit/attempt-log.ts';
import { slotIdOf } from './command/engines/run-on-connection.ts';
import {
  ACCOUNT_PAST_BYTES,
  accountMembers,
  accountPast,
  keyMembers,
  userMembers,
  type AccountPast,
} from './domain/accounts/account-history.ts';
import { accountStream, type OpenedAccount } from './domain/accounts/account.ts';
import { advertiserEvents } from './domain/advertisers/advertiser-events.ts';
import { campaignEvents } from './domain/campaigns/campaign-events.ts';
import { assetEvents } from './domain/assets/asset-events.ts';
import { sellerEvents } from './domain/sellers/seller-events.ts';
import { creativeEvents } from './domain/creatives/creative-events.ts';
import { creativeSessionEvents } from './domain/creative-sessions/creative-session-events.ts';
import { eventSourceEvents } from './domain/event-sources/event-source-events.ts';
import { audienceEvents } from './domain/audiences/audience-events.ts';
import { catalogEvents } from './domain/catalogs/catalog-events.ts';
import { agentEvents } from './domain/agents/agent-events.ts';
import { syndicationEvents } from './domain/syndication/syndication-events.ts';
import { accountEvents } from './domain/accounts/account-events.ts';
import { engineConnectionEvents } from './domain/engines/engine-connection-events.ts';
import { advertiserDecider, advertiserStream } from './domain/advertisers/advertiser.ts';
import { agentIdOf, agentResource, shownAgentId } from './domain/agents/agent-resource.ts';
import { AGENT, agentDecider, agentStream } from './domain/agents/agent.ts';
import {
  assetIdOf,
  assetResource,
  shownAssetId,
  type Asset,
  type StoredAsset,
} from './domain/assets/asset-resource.ts';
import { ASSET, assetDecider, assetStream } from './domain/assets/asset.ts';
import type { Audience } from './domain/audiences/audience-resource.ts';
import { AUDIENCE, audienceDecider, audienceStream } from './domain/audiences/audience.ts';
import {
  campaignIdOf,
  campaignResource,
  shownCampaignId,
  type Campaign,
} from './domain/campaigns/campaign-resource.ts';
import { CAMPAIGN, campaignDecider, campaignStream } from './domain/campaigns/campaign.ts';
import { catalogResource } from './domain/catalogs/catalog-resource.ts';
import { CATALOG, catalogDecider, catalogStream } from './domain/catalogs/catalog.ts';
import {
  creativeSessionDetail,
  sessionIdOf,
  shownSessionId,
} from './domain/creative-sessions/creative-session-resource.ts';
import {
  CREATIVE_SESSION,
  creativeSessionDecider,
  creativeSessionStream,
} from './domain/creative-sessions/creative-session.ts';
import { conversionStream } from './domain/conversions/conversion-events.ts';
import { creativeDetail } from './domain/creatives/creative-detail-resource.ts';
import {
  assetIdsOf,
  creativeIdOf,
  creativeResource,
  shownCreativeId,
  type Creative,
} from './domain/creatives/creative-resource.ts';
import { CREATIVE, creativeDecider, creativeStream } from './domain/creatives/creative.ts';
import {
  connectionIdOf,
  shownConnectionId,
  type EngineConnection,
} from './domain/engines/engine-connection-resource.ts';
import {
  ENGINE_CONNECTION,
  engineConnectionDecider,
  engineConnectionStream,
} from './domain/engines/engine-connection.ts';
import { eventSourceResource, notSeen } from './domain/event-sources/event-source-resource.ts';
import { EVENT_SOURCE, eventSourceDecider, eventSourceStream } from './domain/event-sources/event-source.ts';
import { valueOf } from './domain/history/shared-map.ts';
import { SELLERS, sellerDirectoryDecider, sellerDirectoryStream } from './domain/sellers/seller-directory.ts';
import type { SellerDirectory } from './domain/sellers/seller-resource.ts';
import {
  shownSyndicationId,
  syndicationIdOf,
  syndicationResource,
} from './domain/syndication/syndication-resource.ts';
import { SYNDICATION, syndicationDecider, syndicationStream } from './domain/syndication/syndication.ts';
import { TASK, taskDecider, taskEvents, taskStream } from './domain/tasks/task.ts';
import { findEventSources } from './query/event-sources/find-event-sources.ts';
import { theOneEventSource } from './query/event-sources/routes.ts';
import {
  auditedKind,
  type Asked,
  type AuditedKind,
  type FoundStream,
  type Moment,
} from './query/history/audited-kind.ts';
import { behind } from './query/resources/behind.ts';
import type { ResourceReads } from './query/resources/resource-reads.ts';
import type { Route } from './shared/http/route.ts';
import { boundedText, pathIntegerId, pathTextId } from './shared/http/schemas.ts';
import { resourceIdOf } from './shared/ids.ts';

/**
 * Everything whose changes are kept, in one place: how its stream becomes a state, what of the state is shown, and where
 * the API has it. History, states of the past, differences, explanations and the audit log follow from a line here.
 */

const buyer = '/api/v2/buyer';
const advertiserId = pathIntegerId('advertiser');

/** State and resource of an advertiser are one shape. */
const advertiserKind = auditedKind({
  category: 'advertiser',
  resourceType: 'ADVERTISER',
  noun: 'advertiser',
  events: advertiserEvents,
  decider: advertiserDecider,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ id }) => String(id),
  streamsOf: (customerId, shown) => [advertiserStream(customerId, Number(shown))],
  audited: (advertiser) => advertiser,
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/advertisers/{id}`,
    params: z.object({ id: advertiserId }),
    tag: 'Advertisers',
    find: (customerId, { id }) => ({ stream: advertiserStream(customerId, Number(id)) }),
  },
  details: [{ operationId: 'getAdvertiser', shown: (advertiser) => advertiser }],
  list: {
    operationId: 'listAdvertisers',
    table: 'advertisers',
    streamOf: (customerId, id) => advertiserStream(customerId, Number(id)),
    isEverything: ({ status, name, sandbox }) =>
      status === 'ALL' && name === undefined && sandbox === undefined,
    narrower: 'Ask for all of them, page by page, with status=ALL and no other filter.',
    shown: (advertiser) => advertiser,
    keeps: ({ status, name, sandbox }, { status: wanted = 'ACTIVE', ...asked }) =>
      (wanted === 'ALL' || status === wanted) &&
      (asked['sandbox'] === undefined || sandbox === asked['sandbox']) &&
      (typeof asked['name'] !== 'string' || name.toLowerCase().includes(asked['name'].toLowerCase())),
  },
});

/** Of a thing with an id of its own, which is shown with a prefix. */
const byShownId =
  (
    parameter: string,
    idOf: (shown: string) => string | undefined,
    streamOf: (customerId: number, id: string) => string,
  ) =>
  (customerId: number, asked: Asked): FoundStream | undefined => {
    const id = idOf(String(asked[parameter]));
    return id === undefined ? undefined : { stream: streamOf(customerId, id) };
  };

/** Of a thing that an advertiser has under a key of its own. */
const byKey =
  (parameter: string, category: string, streamOf: (customerId: number, id: string) => string) =>
  (customerId: number, asked: Asked): FoundStream => {
    const id = resourceIdOf(category, customerId, Number(asked['id']), String(asked[parameter]));
    return { stream: streamOf(customerId, id) };
  };

type StreamOf = (customerId: number, id: string) => string;

const streamsByShownId =
  (idOf: (shown: string) => string | undefined, streamOf: StreamOf): AuditedKind['streamsOf'] =>
  (customerId, shown) => {
    const id = idOf(shown);
    return id === undefined ? [] : [streamOf(customerId, id)];
  };

/** Only where the advertiser is known: its key is its own. */
const streamsByKey =
  (category: string, ...streams: readonly StreamOf[]): AuditedKind['streamsOf'] =>
  (customerId, shown, owner) => {
    if (owner === undefined) return [];
    const id = resourceIdOf(category, customerId, owner, shown);
    return streams.map((streamOf) => streamOf(customerId, id));
  };

const ofAdvertiser = (one: { readonly advertiserId: number }, { id }: Asked): boolean =>
  one.advertiserId === id;

const campaignKind = auditedKind({
  category: CAMPAIGN,
  resourceType: 'CAMPAIGN',
  noun: 'campaign',
  events: campaignEvents,
  decider: campaignDecider,
  live: (state) => (state.phase === 'none' ? undefined : state),
  idOf: ({ campaignId }) => shownCampaignId(campaignId),
  streamsOf: streamsByShownId(campaignIdOf, campaignStream),
  audited: campaignResource,
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/campaigns/{id}`,
    params: z.object({ id: pathTextId('campaign') }),
    tag: 'Campaigns',
    find: byShownId('id', campaignIdOf, campaignStream),
  },
  details: [{ operationId: 'getCampaign', shown: campaignResource }],
  list: {
    operationId: 'listCampaigns',
    table: 'campaigns',
    streamOf: campaignStream,
    owner: { parameter: 'advertiserId', column: 'advertiser_id' },
    isEverything: () => false,
    narrower: 'Ask for those of one advertiser, with advertiserId.',
    shown: campaignResource,
    keeps: ({ phase }, { phase: wanted }) => (wanted === undefined ? phase !== 'archived' : phase === wanted),
  },
});

/** What happened to it is nothing that a read of one asset needs: it is not in the library before its bytes are. */
const assetMembers = ({ assetId, customerId: _customer, ...rest }: Asset) => ({
  id: shownAssetId(assetId),
  ...rest,
});

const isInLibrary = (asset: Asset): asset is StoredAsset => asset.status === 'READY';

const assetKind = (baseUrl: () => string): AuditedKind =>
  auditedKind({
    category: ASSET,
    resourceType: 'ASSET',
    noun: 'asset',
    events: assetEvents,
    decider: assetDecider,
    live: (state) => (state.status === 'NONE' ? undefined : state),
    idOf: ({ assetId }) => shownAssetId(assetId),
    streamsOf: streamsByShownId(assetIdOf, assetStream),
    audited: assetMembers,
    nameOf: ({ name }) => name,
    place: {
      path: `${buyer}/advertisers/{id}/assets/{assetId}`,
      params: z.object({ id: advertiserId, assetId: pathTextId('asset') }),
      tag: 'Assets',
      find: byShownId('assetId', assetIdOf, assetStream),
      isAt: ofAdvertiser,
    },
    details: [
      {
        operationId: 'getAsset',
        shown: (asset, asked) =>
          isInLibrary(asset) && ofAdvertiser(asset, asked) ? assetResource(asset, baseUrl()) : undefined,
      },
    ],
  });

/** The directory belongs to no account: nobody asks for its history, and details of creatives show names from it. */
const sellersKind = auditedKind({
  category: SELLERS,
  resourceType: 'CREATIVE',
  noun: 'seller directory',
  events: sellerEvents,
  decider: sellerDirectoryDecider,
  live: (directory) => directory,
  idOf: () => undefined,
  audited: (directory) => directory,
});

/** A creative with all that it is made of, as everything was then. */
const detailThen = async (creative: Creative, assets: AuditedKind, baseUrl: string, then: Moment) => {
  const { customerId, stateOf } = then;
  const campaigns = await Promise.all(
    creative.campaignIds.map((id) => stateOf(campaignKind, campaignStream(customerId, id))),
  );
  const used = await Promise.all(
    assetIdsOf(creative).flatMap((shown) => {
      const id = assetIdOf(shown);
      return id === undefined ? [] : [stateOf(assets, assetStream(customerId, id))];
    }),
  );
  return creativeDetail({
    creative,
    campaigns: (campaigns as readonly (Campaign | { phase: 'none' })[]).filter((one) => one.phase !== 'none'),
    assets: (used as readonly Asset[]).filter(isInLibrary).map((asset) => assetResource(asset, baseUrl)),
    sellers: (await stateOf(sellersKind, sellerDirectoryStream)) as SellerDirectory,
  });
};

const creativeKind = (assets: AuditedKind, baseUrl: () => string): AuditedKind =>
  auditedKind({
    category: CREATIVE,
    resourceType: 'CREATIVE',
    noun: 'creative',
    events: creativeEvents,
    decider: creativeDecider,
    live: (state) => (state.state === 'none' ? undefined : state),
    idOf: ({ creativeId }) => shownCreativeId(creativeId),
    streamsOf: streamsByShownId(creativeIdOf, creativeStream),
    audited: (creative) => ({
      ...creativeResource(creative),
      source: creative.source,
      formatOptionId: creative.formatOptionId,
      campaignIds: creative.campaignIds.map(shownCampaignId),
      reviews: Object.fromEntries(
        (creative.reviews ?? []).map(({ sellerId, since: _since, ...review }) => [sellerId, review]),
      ),
    }),
    nameOf: ({ name }) => name,
    place: {
      path: `${buyer}/creatives/{cid}`,
      params: z.object({ cid: pathTextId('creative') }),
      tag: 'Creatives',
      find: byShownId('cid', creativeIdOf, creativeStream),
    },
    details: [
      {
        operationId: 'getCampaignCreative',
        shown: (creative, { id }) =>
          creative.campaignIds.includes(campaignIdOf(String(id)) ?? '')
            ? creativeResource(creative)
            : undefined,
      },
      {
        operationId: 'getCreativeDetail',
        shown: (creative, _asked, then) => detailThen(creative, assets, baseUrl(), then),
      },
    ],
  });

const sessionKind = auditedKind({
  category: CREATIVE_SESSION,
  resourceType: 'CREATIVE_SESSION',
  noun: 'creative session',
  events: creativeSessionEvents,
  decider: creativeSessionDecider,
  live: (state) => (state.status === 'none' ? undefined : state),
  idOf: ({ sessionId }) => shownSessionId(sessionId),
  streamsOf: streamsByShownId(sessionIdOf, creativeSessionStream),
  audited: creativeSessionDetail,
  nameOf: ({ title }) => title,
  place: {
    path: `${buyer}/campaigns/{id}/creative-sessions/{sid}`,
    params: z.object({ id: pathTextId('campaign'), sid: pathTextId('creative session') }),
    tag: 'Creative sessions',
    find: byShownId('sid', sessionIdOf, creativeSessionStream),
    isAt: ({ campaignId }, { id }) => campaignId === campaignIdOf(String(id)),
  },
  details: [
    {
      operationId: 'getCreativeSession',
      shown: (session, { id }) =>
        session.campaignId === campaignIdOf(String(id)) ? creativeSessionDetail(session) : undefined,
    },
  ],
});

const eventSourceKind = (reads: ResourceReads): AuditedKind =>
  auditedKind({
    category: EVENT_SOURCE,
    resourceType: 'EVENT_SOURCE',
    noun: 'event source',
    events: eventSourceEvents,
    decider: eventSourceDecider,
    live: (state) => (state.status === 'NONE' ? undefined : state),
    idOf: ({ key }) => key,
    streamsOf: streamsByKey(EVENT_SOURCE, eventSourceStream, conversionStream),
    audited: (source) => {
      const { health: _, ...shown } = eventSourceResource(source, notSeen);
      return { ...shown, advertiserId: source.advertiserId, status: source.status };
    },
    nameOf: ({ name }) => name,
    place: {
      path: `${buyer}/event-sources/{key}`,
      params: z.object({ key: boundedText(1, 256).meta({ description: 'The event_source_id.' }) }),
      query: z.object({
        advertiserId: pathIntegerId('advertiser that has it, where several have one of this id').optional(),
      }),
      tag: 'Event Sources',
      find: async (customerId, { key, advertiserId: owner }) => {
        if (owner !== undefined) {
          const id = resourceIdOf(EVENT_SOURCE, customerId, Number(owner), String(key));
          return { stream: eventSourceStream(customerId, id) };
        }
        const { items } = await findEventSources(reads, customerId, String(key)).catch(behind);
        const source = theOneEventSource(items) ?? (items.length === 1 ? items[0] : undefined);
        return source && { stream: eventSourceStream(customerId, source.sourceId) };
      },
    },
    details: [
      {
        operationId: 'getEventSource',
        // What was observed of it is in no event of its own.
        shown: (source) => (source.status === 'ACTIVE' ? eventSourceResource(source, notSeen) : undefined),
      },
    ],
  });

const audienceMembers = ({
  key,
  advertiserId: owner,
  name,
  consentBasis,
  status,
  createdAt,
  updatedAt,
}: Audience) => ({
  audienceId: key,
  advertiserId: owner,
  name,
  consentBasis,
  status,
  createdAt,
  updatedAt,
});

/** Who is in it is about persons: no history has it. */
const audienceKind = auditedKind({
  category: AUDIENCE,
  resourceType: 'AUDIENCE',
  noun: 'audience',
  events: audienceEvents,
  decider: audienceDecider,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ key }) => key,
  streamsOf: streamsByKey(AUDIENCE, audienceStream),
  audited: audienceMembers,
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/advertisers/{id}/audiences/{audienceId}`,
    params: z.object({ id: advertiserId, audienceId: pathTextId('audience') }),
    tag: 'Audiences',
    find: byKey('audienceId', AUDIENCE, audienceStream),
  },
});

const catalogKind = auditedKind({
  category: CATALOG,
  resourceType: 'CATALOG',
  noun: 'catalog',
  events: catalogEvents,
  decider: catalogDecider,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ key }) => key,
  streamsOf: streamsByKey(CATALOG, catalogStream),
  audited: (catalog) => ({
    ...catalogResource(catalog),
    advertiserId: catalog.advertiserId,
    status: catalog.status,
  }),
  nameOf: ({ definition }) => definition.name,
  place: {
    path: `${buyer}/advertisers/{id}/catalogs/{catalogId}`,
    params: z.object({ id: advertiserId, catalogId: pathTextId('catalog') }),
    tag: 'Catalogs',
    find: byKey('catalogId', CATALOG, catalogStream),
  },
});

const agentKind = auditedKind({
  category: AGENT,
  resourceType: 'ADCP_AGENT',
  noun: 'agent',
  events: agentEvents,
  decider: agentDecider,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ agentId }) => shownAgentId(agentId),
  streamsOf: streamsByShownId(agentIdOf, agentStream),
  audited: (agent) => ({ ...agentResource(agent), status: agent.status }),
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/adcp-agents/{id}`,
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the agent.' }) }),
    tag: 'AdCP Agents',
    find: byShownId('id', agentIdOf, agentStream),
  },
  details: [
    {
      operationId: 'getAdcpAgent',
      shown: (agent) => (agent.status === 'ACTIVE' ? agentResource(agent) : undefined),
    },
  ],
});

const syndicationKind = auditedKind({
  category: SYNDICATION,
  resourceType: 'SYNDICATION',
  noun: 'syndication record',
  events: syndicationEvents,
  decider: syndicationDecider,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ recordId }) => shownSyndicationId(recordId),
  streamsOf: streamsByShownId(syndicationIdOf, syndicationStream),
  audited: (record) => ({
    ...syndicationResource(record),
    generation: record.generation,
    agentTask: record.submitted && {
      taskId: record.submitted.taskId,
      taskOf: record.submitted.taskOf,
      submittedAt: record.submitted.submittedAt,
    },
  }),
  nameOf: ({ resourceId }) => resourceId,
  place: {
    path: `${buyer}/advertisers/{id}/syndication-status/{recordId}`,
    params: z.object({ id: advertiserId, recordId: pathTextId('syndication record') }),
    tag: 'Syndication',
    find: byShownId('recordId', syndicationIdOf, syndicationStream),
    isAt: (record, asked) => ofAdvertiser(record, asked),
  },
});

/** An account's connections to one engine, one after the other, and which there were. */
interface Connections {
  readonly latest: EngineConnection | undefined;
  readonly ids: readonly string[];
}

const connectionMembers = (connection: EngineConnection) => ({
  id: shownConnectionId(connection.connectionId),
  engineId: connection.engineId,
  status: connection.status,
  maskedKey: connection.maskedKey,
  selectedAccountId: connection.selectedAccountId,
  accounts: connection.accounts,
  accountMappings: connection.mappings.map(({ accountId, advertiserId: mapped }) => ({
    accountId,
    advertiserId: mapped,
  })),
  connectedBy: connection.connectedBy,
  createdAt: connection.createdAt,
  updatedAt: connection.updatedAt,
});

const { initialState: noConnection, evolve: evolveConnection } = engineConnectionDecider;

const connectionKind = auditedKind({
  category: ENGINE_CONNECTION,
  resourceType: 'ENGINE_CONNECTION',
  noun: 'connection',
  events: engineConnectionEvents,
  decider: {
    initialState: { latest: undefined, ids: [] },
    evolve: ({ latest, ids }: Connections, event: Parameters<typeof evolveConnection>[1]): Connections => {
      const next = evolveConnection(latest ?? noConnection, event);
      if (next.status === 'none') return { latest, ids };
      const { connectionId } = next;
      return { latest: next, ids: ids.includes(connectionId) ? ids : [...ids, connectionId] };
    },
  },
  live: (state: Connections) => (state.latest === undefined ? undefined : state),
  idOf: ({ latest }) => latest && shownConnectionId(latest.connectionId),
  audited: ({ latest }, part) =>
    latest === undefined || (part !== undefined && part !== latest.connectionId)
      ? undefined
      : connectionMembers(latest),
  place: {
    path: `${buyer}/creative-engines/{id}/connections/{connectionId}`,
    params: z.object({ id: pathIntegerId('engine'), connectionId: pathTextId('connection') }),
    tag: 'Creatives',
    find: (customerId, { id, connectionId }) => {
      const part = connectionIdOf(String(connectionId));
      const slotId = slotIdOf(customerId, Number(id));
      return part === undefined ? undefined : { stream: engineConnectionStream(customerId, slotId), part };
    },
    isAt: ({ ids }, _asked, part) => part !== undefined && ids.includes(part),
  },
});

const taskKind = auditedKind({
  category: TASK,
  resourceType: 'TASK',
  noun: 'task',
  events: taskEvents,
  decider: taskDecider,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ taskId }) => taskId,
  streamsOf: (customerId, shown) => [taskStream(customerId, shown.toLowerCase())],
  audited: ({ customerId: _customer, ...task }) => task,
  place: {
    path: `${buyer}/tasks/{taskId}`,
    params: z.object({ taskId: pathTextId('task') }),
    tag: 'Tasks',
    find: (customerId, { taskId }) =>
      z.uuid().safeParse(taskId).success
        ? { stream: taskStream(customerId, String(taskId).toLowerCase()) }
        : undefined,
  },
});

type Open = AccountPast & { readonly account: OpenedAccount };
const isOpen = (past: AccountPast): past is Open => past.account.status !== 'NONE';

/** The account, its users and its keys have one stream. */
const accountNames = {
  category: 'account',
  events: accountEvents,
  decider: accountPast,
  live: (past: AccountPast) => (isOpen(past) ? past : undefined),
  bytesOf: () => ACCOUNT_PAST_BYTES,
} as const;

const accountKind = auditedKind({
  ...accountNames,
  resourceType: 'ACCOUNT',
  noun: 'account',
  idOf: ({ account }) => String(account.customerId),
  streamsOf: (customerId, shown) => (shown === String(customerId) ? [accountStream(customerId)] : []),
  audited: ({ account }) => accountMembers(account),
  nameOf: ({ account }) => account.name,
  place: {
    path: '/api/v2/accounts/current',
    params: z.object({}),
    tag: 'Accounts',
    access: 'exchange:admin',
    find: (customerId) => ({ stream: accountStream(customerId) }),
  },
});

const apiKeyKind = auditedKind({
  ...accountNames,
  resourceType: 'API_KEY',
  noun: 'API key',
  idOf: (_past, part) => part,
  audited: ({ keys }, part = '') => {
    const key = valueOf(keys, part);
    return key && keyMembers(part, key);
  },
  nameOf: ({ keys }, part = '') => valueOf(keys, part)?.name,
  place: {
    path: `${buyer}/api-keys/{id}`,
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the API key.' }) }),
    tag: 'API keys',
    access: 'exchange:admin',
    find: (customerId, { id }) => ({ stream: accountStream(customerId), part: String(id) }),
    isAt: ({ keys }, _asked, part = '') => valueOf(keys, part) !== undefined,
  },
});

const userKind = auditedKind({
  ...accountNames,
  resourceType: 'USER',
  noun: 'user',
  idOf: (_past, part) => part,
  audited: ({ users }, part = '') => {
    const user = valueOf(users, part);
    return user && userMembers(part, user);
  },
  nameOf: ({ users }, part = '') => valueOf(users, part)?.name,
});

/** Every kind, each once. */
export const auditedKinds = (
  reads: ResourceReads & { readonly baseUrl: () => string },
): readonly AuditedKind[] => {
  const assets = assetKind(reads.baseUrl);
  return [
    advertiserKind,
    campaignKind,
    creativeKind(assets, reads.baseUrl),
    sessionKind,
    assets,
    eventSourceKind(reads),
    audienceKind,
    catalogKind,
    agentKind,
    syndicationKind,
    connectionKind,
    taskKind,
    accountKind,
    apiKeyKind,
    userKind,
  ];
};

/** Where routes have things that history has elsewhere. */
const otherPlaces = [
  { resourceType: 'CREATIVE', path: `${buyer}/campaigns/{id}/creatives/{cid}` },
  { resourceType: 'CREATIVE', path: `${buyer}/advertisers/{id}/creatives/{cid}` },
] as const;

/** Which thing the routes below each place are about: the longest path that a route begins with says so. */
export const subjectsOfRoutes = (
  kinds: readonly AuditedKind[],
): ((route: Pick<Route, 'path'>) => RouteSubject | undefined) => {
  const places = kinds
    .flatMap(({ resourceType, place }) => (place === undefined ? [] : [{ resourceType, path: place.path }]))
    .concat(otherPlaces)
    .filter(({ path }) => path.endsWith('}'))
    .map(({ resourceType, path }) => ({ resourceType, segments: path.split('/') }))
    .sort((a, b) => b.segments.length - a.segments.length);
  return ({ path }) => {
    const own = path.split('/');
    const found = places.find(({ segments }) => segments.every((one, n) => isAlike(one, own[n])));
    const idParameter = nameOfParameter(own[(found?.segments.length ?? 0) - 1]);
    if (found === undefined || idParameter === undefined) return undefined;
    const advertiserParameter = nameOfParameter(own[own.indexOf('advertisers') + 1]);
    const campaignParameter = nameOfParameter(own[own.indexOf('campaigns') + 1]);
    return {
      resourceType: found.resourceType,
      idParameter,
      ...(advertiserParameter === undefined ? {} : { advertiserParameter }),
      ...(campaignParameter === undefined ? {} : { campaignParameter }),
    };
  };
};

/** Of a segment of a path, e.g. `id` of `{id}`; undefined for one that is as it stands. */
const nameOfParameter = (segment: string | undefined): string | undefined =>
  /^\{(\w+)\}$/.exec(segment ?? '')?.[1];

/** Routes may call their parameters as they like. */
const isAlike = (one: string, other: string | undefined): boolean =>
  one === other || (nameOfParameter(one) !== undefined && nameOfParameter(other) !== undefined);
