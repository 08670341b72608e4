import type { PlaceArgument } from './places.ts';

/** Path or query parameters of a route, by the argument that gives their value. */
export type ParametersFrom = Readonly<Record<string, 'id' | PlaceArgument>>;

export interface Read {
  readonly operationId: string;
  readonly params?: ParametersFrom;
  readonly query?: ParametersFrom;
  /** Of the answer, if it is not the resource itself. */
  readonly member?: string;
}

/** A resource that only its list shows: found in it by its id. */
interface FindInList {
  readonly idMember: string;
}

export interface List {
  readonly operationId: string;
  /** Undefined: the list of the account. */
  readonly of?: PlaceArgument;
  readonly parameter?: string;
  /** Of the answer. Default: the answer is the list. */
  readonly member?: string;
  /** Paged with cursors instead of `skip`. */
  readonly hasCursors?: true;
}

interface History {
  /** In the operations `get…History`, `get…Difference` and `explain…`. */
  readonly noun: string;
  readonly params: ParametersFrom;
  readonly query?: ParametersFrom;
}

export interface Kind {
  /** Which arguments place the resource beside its id. */
  readonly needs?: readonly PlaceArgument[];
  readonly read: Read | FindInList | 'syndication record';
  /** The first one whose argument is given. */
  readonly lists: readonly List[];
  /** Members of a row that tell it from others. */
  readonly summary: readonly string[];
  readonly history?: History;
}

const byId = { id: 'id' } as const;
const ofAdvertiser = { of: 'advertiserId', parameter: 'id' } as const;
const ofCampaign = { of: 'campaignId', parameter: 'id' } as const;

/** Every kind of object that `get`, `search` and the tools of history know. A new kind is one entry here. */
const kinds = {
  advertiser: {
    read: { operationId: 'getAdvertiser', params: byId },
    lists: [{ operationId: 'listAdvertisers' }],
    summary: ['id', 'name', 'status', 'sandbox', 'primaryCurrency', 'brandDomain', 'updatedAt'],
    history: { noun: 'Advertiser', params: byId },
  },
  campaign: {
    read: { operationId: 'getCampaign', params: byId },
    lists: [{ operationId: 'listCampaigns' }],
    summary: ['id', 'advertiserId', 'name', 'phase', 'flight', 'budget', 'revision', 'updatedAt'],
    history: { noun: 'Campaign', params: byId },
  },
  creative: {
    read: { operationId: 'getCreativeDetail', params: { cid: 'id' } },
    lists: [
      { operationId: 'listCampaignCreatives', ...ofCampaign },
      { operationId: 'listAdvertiserCreatives', ...ofAdvertiser },
    ],
    summary: ['id', 'advertiserId', 'name', 'state', 'formatKind', 'role', 'revision', 'updatedAt'],
    history: { noun: 'Creative', params: { cid: 'id' } },
  },
  creative_session: {
    needs: ['campaignId'],
    read: { operationId: 'getCreativeSession', params: { id: 'campaignId', sid: 'id' } },
    lists: [{ operationId: 'listCreativeSessions', ...ofCampaign, member: 'sessions', hasCursors: true }],
    summary: ['id', 'campaignId', 'title', 'status', 'revision', 'updatedAt'],
    history: { noun: 'CreativeSession', params: { id: 'campaignId', sid: 'id' } },
  },
  proposal_request: {
    needs: ['campaignId'],
    read: { operationId: 'getProposalRequest', params: { id: 'campaignId', executionId: 'id' } },
    lists: [{ operationId: 'listProposalRequests', ...ofCampaign }],
    summary: ['executionId', 'status', 'startedAt', 'completedAt'],
    history: { noun: 'ProposalRequest', params: { id: 'campaignId', executionId: 'id' } },
  },
  creative_engine: {
    read: { operationId: 'getCreativeEngine', params: byId },
    lists: [{ operationId: 'listCreativeEngines' }],
    summary: ['id', 'name', 'formatKinds', 'requiresAdvertiserMapping', 'standIn'],
  },
  connection: {
    needs: ['engineId'],
    read: { idMember: 'id' },
    lists: [{ operationId: 'listCreativeEngineConnections', of: 'engineId', parameter: 'id' }],
    summary: ['id', 'target', 'engineName', 'status', 'selectedAccountId', 'updatedAt'],
    history: { noun: 'Connection', params: { id: 'engineId', connectionId: 'id' } },
  },
  asset: {
    needs: ['advertiserId'],
    read: { operationId: 'getAsset', params: { id: 'advertiserId', assetId: 'id' } },
    lists: [{ operationId: 'listAssets', ...ofAdvertiser }],
    summary: ['id', 'advertiserId', 'name', 'mediaKind', 'mimeType', 'url', 'width', 'height', 'bytes'],
    history: { noun: 'Asset', params: { id: 'advertiserId', assetId: 'id' } },
  },
  event_source: {
    read: { operationId: 'getEventSource', params: { key: 'id' }, query: { advertiserId: 'advertiserId' } },
    lists: [{ operationId: 'listEventSources', ...ofAdvertiser, member: 'eventSources' }],
    summary: ['eventSourceId', 'name', 'eventTypes', 'health', 'updatedAt'],
    history: { noun: 'EventSource', params: { key: 'id' }, query: { advertiserId: 'advertiserId' } },
  },
  audience: {
    needs: ['advertiserId'],
    read: { idMember: 'audienceId' },
    lists: [{ operationId: 'listAudiences', ...ofAdvertiser, member: 'audiences' }],
    summary: ['audienceId', 'name', 'status', 'uploadedCount', 'updatedAt'],
    history: { noun: 'Audience', params: { id: 'advertiserId', audienceId: 'id' } },
  },
  catalog: {
    needs: ['advertiserId'],
    read: { idMember: 'catalogId' },
    lists: [{ operationId: 'listCatalogs', ...ofAdvertiser, member: 'catalogs' }],
    summary: ['catalogId', 'type', 'name', 'status', 'itemCount', 'updatedAt'],
    history: { noun: 'Catalog', params: { id: 'advertiserId', catalogId: 'id' } },
  },
  syndication: {
    needs: ['advertiserId'],
    read: 'syndication record',
    lists: [
      {
        operationId: 'querySyndicationStatus',
        of: 'advertiserId',
        parameter: 'advertiserId',
        member: 'items',
      },
    ],
    summary: ['id', 'resourceType', 'resourceId', 'adcpAgentId', 'enabled', 'status', 'errorMessage'],
    history: { noun: 'SyndicationRecord', params: { id: 'advertiserId', recordId: 'id' } },
  },
  adcp_agent: {
    read: { operationId: 'getAdcpAgent', params: byId },
    lists: [{ operationId: 'listAdcpAgents' }],
    summary: ['id', 'name', 'url', 'protocol', 'status', 'supportedTasks'],
    history: { noun: 'Agent', params: byId },
  },
  task: {
    read: { operationId: 'getTask', params: { taskId: 'id' }, member: 'task' },
    lists: [],
    summary: ['taskId', 'taskType', 'status'],
    history: { noun: 'Task', params: { taskId: 'id' } },
  },
  webhook_subscription: {
    read: { operationId: 'getWebhookSubscription', params: byId, member: 'subscription' },
    lists: [{ operationId: 'listWebhookSubscriptions', member: 'subscriptions' }],
    summary: ['id', 'url', 'eventTypes', 'status', 'statusReason', 'failureCount'],
    history: { noun: 'WebhookSubscription', params: byId },
  },
  webhook_delivery: {
    needs: ['webhookSubscriptionId'],
    read: {
      operationId: 'getWebhookDelivery',
      params: { id: 'webhookSubscriptionId', deliveryId: 'id' },
    },
    lists: [
      {
        operationId: 'listWebhookDeliveries',
        of: 'webhookSubscriptionId',
        parameter: 'id',
        member: 'deliveries',
        hasCursors: true,
      },
    ],
    summary: ['id', 'type', 'state', 'attemptCount', 'createdAt', 'lastAttemptAt'],
  },
  seller: {
    read: { idMember: 'sellerId' },
    lists: [{ operationId: 'listSellers' }],
    summary: ['sellerId', 'name', 'channels'],
  },
  account: {
    read: { operationId: 'getCurrentAccount' },
    lists: [],
    summary: ['id', 'company', 'name', 'role'],
    history: { noun: 'Account', params: {} },
  },
} satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as KindName[];
export const kindOf = (name: KindName): Kind => kinds[name];
