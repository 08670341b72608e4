import { readdir } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { authorizeClient } from '../../command/accounts/oauth/grants.ts';
import { oauthGrantRowsIn } from '../../projections/oauth-grant-rows.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { shownDeliveryId } from '../../domain/webhooks/delivery-resource.ts';
import { webhookIdOf } from '../../domain/webhooks/resource.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { inviteUser } from '../../cli/operate-users.ts';
import { createKey, createUser, setAccess } from '../../cli/operate-accounts.ts';
import { createSellerAccount } from '../../app/create-account.ts';
import { advertiserRows } from '../../query/advertisers/routes.ts';
import { rowReader } from '../../query/resources/read-row.ts';
import { createLog } from '../../app/log.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { createTenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { prepareBinding } from '../../shared/postgres/tenant-query.ts';
import { apiOf } from '../support/api-client.ts';
import { setUpByLink, type Person } from '../support/person.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { textOf } from '../support/read-stream.ts';
import { stripTenants } from '../support/strip-tenants.ts';
import { reserve, storedFiles, upload } from '../support/uploads.ts';

/**
 * Calls every route of `/openapi.json` with ids of another account: each answer must equal that for an id that
 * never existed. A route without a row here fails. The second run removes the account from every query, so that
 * the database alone separates the accounts (docs/design/isolation.md).
 */

/** Ids of an account's resources, by kind. */
interface Belongings {
  readonly advertiser: string;
  readonly archived: string;
  readonly apiKey: string;
  readonly connectedApp: string;
  /** The first user's. */
  readonly userSession: string;
  readonly eventSource: string;
  readonly task: string;
  readonly agent: string;
  readonly campaign: string;
  readonly creative: string;
  /** For paths with several parameters, in their order. */
  readonly campaignCreative: string;
  readonly creativeSeller: string;
  readonly advertiserCreative: string;
  readonly attachment: string;
  readonly session: string;
  readonly proposalRequest: string;
  readonly variant: string;
  /** Ids of the advertiser and of the resource. */
  readonly asset: string;
  /** Ids of the engine, the connection and one of its accounts. */
  readonly connection: string;
  /** Ids of the advertiser and of the resource. */
  readonly audience: string;
  readonly catalog: string;
  readonly record: string;
  /** A request that has changed a resource. */
  readonly request: string;
  /** A user of the account with events. */
  readonly user: string;
  /** A cursor of the list of its sessions. */
  readonly cursor: string;
  readonly webhook: string;
  /** Ids of the subscription and the delivery. */
  readonly webhookDelivery: string;
  readonly deliveryCursor: string;
  /** Reserved; no bytes were sent. */
  readonly invitation: string;
  readonly browserOrigin: string;
  readonly upload: string;
  readonly uploadToken: string;
  /** The public address of the asset. */
  readonly storageKey: string;
}
type Kind = keyof Belongings;

interface Row {
  /** The path parameter of a route that refers to no resource of an account. */
  readonly at?: string;
  /** What the path refers to, or the body if the path has no parameter. Each kind is tried. */
  readonly refersTo?: readonly Kind[];
  /** The query that the route requires. */
  readonly query?: string;
  readonly body?: (belongings: Belongings, stranger: TestAccount) => object;
  /** The part of an answer that differs at every call. */
  readonly varies?: RegExp;
}

/** History, difference and explanation of each kind. */
function historyRows(kinds: Readonly<Record<string, readonly Kind[]>>): Readonly<Record<string, Row>> {
  return Object.fromEntries(
    Object.entries(kinds).flatMap(([name, refersTo]) => [
      [`get${name}History`, { refersTo }],
      [`get${name}Difference`, { refersTo, query: '?from=0' }],
      [`explain${name}`, { refersTo }],
    ]),
  );
}

const subscription = { url: 'https://hooks.example.com/', eventTypes: ['*'] };

const rows: Readonly<Record<string, Row>> = {
  listAdvertisers: {},
  createAdvertiser: {
    body: ({ advertiser }, { customerId }) => ({ name: 'Mine', customerId, id: Number(advertiser) }),
  },
  getAdvertiser: { refersTo: ['advertiser', 'archived'] },
  updateAdvertiser: { refersTo: ['advertiser', 'archived'], body: () => ({ name: 'Taken over' }) },
  deleteAdvertiser: { refersTo: ['advertiser', 'archived'] },
  restoreAdvertiser: { refersTo: ['advertiser', 'archived'] },
  listApiKeys: {},
  createApiKey: { body: (_, { customerId }) => ({ name: 'Mine', customerId, userId: `${customerId}-1` }) },
  revokeApiKey: { refersTo: ['apiKey'] },
  getCurrentAccount: {},
  listMembers: {},
  changeMemberRole: { refersTo: ['user'], body: () => ({ role: 'admin' }) },
  removeMember: { refersTo: ['user'] },
  listInvitations: {},
  inviteUser: {
    body: (_, { customerId }) => ({ email: `mine-${randomUUID()}@example.com`, role: 'member', customerId }),
  },
  revokeInvitation: { refersTo: ['invitation'] },
  listBrowserOrigins: {},
  createBrowserOrigin: { body: (_, { customerId }) => ({ origin: 'https://mine.example.com', customerId }) },
  deleteBrowserOrigin: { refersTo: ['browserOrigin'] },
  listConnectedApps: {},
  revokeConnectedApp: { refersTo: ['connectedApp'] },
  syncEventSources: {
    refersTo: ['advertiser', 'archived'],
    body: ({ advertiser }) => ({
      account: { account_id: advertiser },
      event_sources: [{ event_source_id: 'taken-over' }],
      delete_missing: true,
    }),
  },
  listEventSources: { refersTo: ['advertiser', 'archived'] },
  getEventSummary: { refersTo: ['advertiser', 'archived'] },
  getReceivedEvents: { refersTo: ['advertiser', 'archived'] },
  getEventSource: { refersTo: ['eventSource'] },
  syncCatalogs: {
    refersTo: ['advertiser', 'archived'],
    body: () => ({
      catalogs: [{ catalog_id: 'taken-over', type: 'product', items: [{}] }],
      delete_missing: true,
    }),
  },
  syncAudiences: {
    refersTo: ['advertiser', 'archived'],
    body: () => ({ audiences: [{ audienceId: 'taken-over', add: [] }], deleteMissing: true }),
  },
  listAudiences: { refersTo: ['advertiser', 'archived'] },
  getTask: { refersTo: ['task'] },
  listCatalogs: { refersTo: ['advertiser', 'archived'] },
  logConversions: {
    refersTo: ['eventSource'],
    body: () => ({ events: [{ eventId: 'theirs', eventTime: new Date().toISOString() }] }),
  },
  createAdcpAgent: {
    body: (_, { customerId }) => ({
      name: 'Mine',
      url: 'https://agent.example.com/mcp',
      protocol: 'MCP',
      auth: { type: 'bearer', token: 'a-token' },
      customerId,
    }),
  },
  listAdcpAgents: {},
  listSalesAgents: {},
  getAdcpAgent: { refersTo: ['agent'] },
  deleteAdcpAgent: { refersTo: ['agent'] },
  syndicate: {
    refersTo: ['advertiser', 'archived'],
    body: ({ eventSource, agent }) => ({ resourceId: eventSource, adcpAgentIds: [agent], enabled: true }),
  },
  getSyndicationRecord: { refersTo: ['record'] },
  querySyndicationStatus: { refersTo: ['advertiser', 'archived'] },
  listCampaigns: {},
  createCampaign: {
    refersTo: ['advertiser'],
    body: ({ advertiser }) => ({ advertiserId: Number(advertiser), name: 'Mine' }),
  },
  getCampaign: { refersTo: ['campaign'] },
  updateCampaign: { refersTo: ['campaign'], body: () => ({ name: 'Taken over' }) },
  executeCampaign: { refersTo: ['campaign'] },
  pauseCampaign: { refersTo: ['campaign'] },
  reactivateCampaign: { refersTo: ['campaign'] },
  deleteCampaign: { refersTo: ['campaign'] },
  createCampaignCreative: { refersTo: ['campaign'], body: () => ({ formatKind: 'image' }) },
  addCampaignCreative: { refersTo: ['campaign'], body: () => ({ formatKind: 'image' }) },
  listCampaignCreatives: { refersTo: ['campaign'] },
  getCampaignCreative: { refersTo: ['campaignCreative'] },
  updateCampaignCreative: { refersTo: ['campaignCreative'], body: () => ({ name: 'Taken over' }) },
  deleteCampaignCreative: { refersTo: ['campaignCreative'] },
  duplicateCampaignCreative: { refersTo: ['campaignCreative'] },
  listSellers: {},
  submitCreative: { refersTo: ['creative'], body: () => ({ sellerIds: [1] }) },
  reviewCreative: { refersTo: ['creativeSeller'], body: () => ({ status: 'approved' }) },
  listSellerSubmissions: { at: '1' },
  createAdvertiserCreative: { refersTo: ['advertiser', 'archived'], body: () => ({ formatKind: 'image' }) },
  listAdvertiserCreatives: { refersTo: ['advertiser', 'archived'] },
  saveCreativesToLibrary: {
    refersTo: ['advertiser', 'archived'],
    body: ({ creative }) => ({ creativeIds: [creative], role: 'evergreen' }),
  },
  assignCreativeToCampaign: {
    refersTo: ['advertiserCreative'],
    body: ({ campaign }) => ({ campaignId: campaign }),
  },
  unassignCreativeFromCampaign: { refersTo: ['attachment'] },
  archiveCreative: { refersTo: ['advertiserCreative'] },
  listProposalRequests: { refersTo: ['campaign'] },
  requestProposals: { refersTo: ['campaign'], body: () => ({ sellerIds: [1] }) },
  getProposalRequest: { refersTo: ['proposalRequest'] },
  // The answer repeats the query.
  getDelivery: { varies: /"filters":\{[^}]*\}/ },
  listCreativeSessions: { refersTo: ['campaign'] },
  createCreativeSession: { refersTo: ['campaign'], body: () => ({ title: 'Mine' }) },
  getCreativeSession: { refersTo: ['session'] },
  refineCreativeSessionVariant: { refersTo: ['variant'], body: () => ({ feedback: 'Taken over' }) },
  evaluateCreativeSession: { refersTo: ['session'], body: () => ({ stage: 'draft' }) },
  finalizeCreativeSession: {
    refersTo: ['session'],
    body: ({ variant }) => ({ variantId: variant.split('/').at(-1) ?? '' }),
  },
  getCreativeDetail: { refersTo: ['creative'] },
  reserveAssetUpload: {
    refersTo: ['advertiser', 'archived'],
    body: ({ upload: uploadId }, { customerId }) => ({
      name: 'Mine',
      mimeType: 'image/png',
      customerId,
      uploadId,
    }),
  },
  listAssets: { refersTo: ['advertiser', 'archived'] },
  listCreativeEngines: {},
  getCreativeEngine: { at: '1' },
  listCreativeEngineConnections: { at: '1' },
  connectCreativeEngine: {
    refersTo: ['connection'],
    body: ({ connection }) => ({ apiKey: 'sbx_taken-over', connectionId: connection.split('/')[1] }),
  },
  disconnectCreativeEngine: { refersTo: ['connection'] },
  selectCreativeEngineAccount: { refersTo: ['connection'] },
  mapCreativeEngineAccount: {
    refersTo: ['connection'],
    body: ({ advertiser }) => ({ advertiserId: Number(advertiser) }),
  },
  getAsset: { refersTo: ['asset'] },
  deleteAsset: { refersTo: ['asset'] },
  listWebhookSubscriptions: {},
  createWebhookSubscription: {
    refersTo: ['advertiser'],
    body: ({ advertiser }) => ({ ...subscription, advertiserIds: [Number(advertiser)] }),
  },
  getWebhookSubscription: { refersTo: ['webhook'] },
  updateWebhookSubscription: { refersTo: ['webhook'], body: () => ({ status: 'inactive' }) },
  deleteWebhookSubscription: { refersTo: ['webhook'] },
  rotateWebhookSecret: { refersTo: ['webhook'], body: () => ({ force: true }) },
  testWebhookSubscription: { refersTo: ['webhook'], body: () => ({ type: 'creative.updated' }) },
  recoverWebhookDeliveries: { refersTo: ['webhook'], body: () => ({ since: new Date().toISOString() }) },
  replayWebhookEvents: {
    refersTo: ['webhook'],
    body: () => ({ since: new Date(Date.now() - 60_000).toISOString() }),
  },
  listWebhookDeliveries: { refersTo: ['webhook'] },
  getWebhookDelivery: { refersTo: ['webhookDelivery'] },
  redeliverWebhook: { refersTo: ['webhookDelivery'] },
  listAuditLogs: {},
  // A cursor contains the time.
  listEvents: { varies: /"nextCursor":"[^"]+"/ },
  // Ids of frames contain the time; the client's waits differ.
  streamEvents: { query: '?since=earliest', varies: /^(id|retry): .*$/gm },
  listWebhookEventTypes: {},
  // Messages of another protocol: `mcp.e2e.test.ts`, `adcp.e2e.test.ts`, and each tool in `mcp-tools.e2e.test.ts`.
  ...Object.fromEntries(
    [
      'callMcp',
      'streamMcp',
      'endMcpSession',
      'callMcpV3',
      'streamMcpV3',
      'endMcpV3Session',
      'callMcpAdcp',
    ].map((id) => [id, {}]),
  ),
  getRequest: { refersTo: ['request'] },
  ...historyRows({
    Advertiser: ['advertiser', 'archived'],
    Campaign: ['campaign'],
    Creative: ['creative'],
    CreativeSession: ['session'],
    ProposalRequest: ['proposalRequest'],
    Asset: ['asset'],
    EventSource: ['eventSource'],
    Audience: ['audience'],
    Catalog: ['catalog'],
    Agent: ['agent'],
    SyndicationRecord: ['record'],
    Connection: ['connection'],
    Task: ['task'],
    Account: [],
    ApiKey: ['apiKey'],
    ConnectedApp: ['connectedApp'],
    Session: ['userSession'],
    User: ['user'],
    Invitation: ['invitation'],
    BrowserOrigin: ['browserOrigin'],
    WebhookSubscription: ['webhook'],
  }),
};

/** After every event of a test. */
const LATER = '2999-01-01T00:00:00Z';

/** Routes for signed-in persons only: no other credential is accepted. */
const sessionRows: readonly string[] = [
  'getConsentRequest',
  'decideConsent',
  'signOut',
  'changePassword',
  'getCurrentUser',
  'listSessions',
  'endSession',
  'endOtherSessions',
  'startTotp',
  'confirmTotp',
  'disableTotp',
];

/**
 * Routes without an API key, and what they expose or change of an account. `protocol`: their own tests send what they
 * need (`oauth-*`, `sign-in`, `verify-email`, `password-reset` and `invitations.e2e.test.ts`).
 */
const publicRows: Readonly<Record<string, 'upload' | 'bytes' | 'nothing' | 'protocol'>> = {
  acceptInvitation: 'protocol',
  signUp: 'protocol',
  verifyEmail: 'protocol',
  signIn: 'protocol',
  requestPasswordReset: 'protocol',
  verifyPasswordReset: 'protocol',
  resetPassword: 'protocol',
  setUp: 'protocol',
  authorize: 'protocol',
  resumeAuthorization: 'protocol',
  registerClient: 'protocol',
  exchangeToken: 'protocol',
  preflightToken: 'protocol',
  revokeToken: 'protocol',
  preflightRevocation: 'protocol',
  getAuthorizationServer: 'nothing',
  getMcpProtectedResource: 'nothing',
  getMcpV3ProtectedResource: 'nothing',
  getMcpAdcpProtectedResource: 'nothing',
  uploadAsset: 'upload',
  uploadAssetByPost: 'upload',
  readAsset: 'bytes',
  getFrontPage: 'nothing',
  getHealth: 'nothing',
  getLive: 'nothing',
  getOpenApiYaml: 'nothing',
  getBuyerOpenApiYaml: 'nothing',
  getLlms: 'nothing',
  getSkill: 'nothing',
  getBuyerSkill: 'nothing',
  getProtectedResource: 'nothing',
  getBuyerProtectedResource: 'nothing',
  getReady: 'nothing',
  getOpenApi: 'nothing',
  getConsole: 'nothing',
  getConsoleFile: 'nothing',
  getGuide: 'nothing',
  getApiReference: 'nothing',
  getApiReferenceScript: 'nothing',
};

/** Query parameters that refer to resources of an account. Each kind is tried. */
const references: Readonly<Record<string, readonly Kind[]>> = {
  advertiserId: ['advertiser', 'archived'],
  campaignId: ['campaign'],
  adcpAgentId: ['agent'],
  actorUserId: ['user'],
  cursor: ['cursor'],
  'cursor of listWebhookDeliveries': ['deliveryCursor'],
  // Given out for more products than these sellers have: `proposals.e2e.test.ts`.
  'cursor of getProposalRequest': [],
  // Given out for more rows than these accounts have: `delivery.e2e.test.ts`.
  'cursor of getDelivery': [],
  resourceId: [
    ...(['advertiser', 'campaign', 'creative', 'session', 'asset', 'connection', 'agent', 'task'] as const),
    ...([
      'record',
      'apiKey',
      'invitation',
      'browserOrigin',
      'eventSource',
      'audience',
      'catalog',
      'webhook',
      'proposalRequest',
    ] as const),
  ],
  // Ids of uploads: not listed, tested separately.
  token: [],
};
const referencesOf = ({ operationId }: Operation, name: string): readonly Kind[] =>
  references[`${name} of ${operationId}`] ?? references[name] ?? [];

/** Bodies that refer to a resource of an account, in requests about another resource. */
const namedInBodies: readonly {
  readonly operationId: string;
  /** What the path refers to. */
  readonly about: Kind;
  readonly names: Kind;
  readonly body: (id: string) => object;
}[] = [
  {
    operationId: 'createCampaignCreative',
    about: 'campaign',
    names: 'asset',
    body: (assetId) => ({ formatKind: 'image', slots: [{ slotId: 'a', kind: 'asset', assetId }] }),
  },
  {
    operationId: 'createAdvertiserCreative',
    about: 'advertiser',
    names: 'asset',
    body: (assetId) => ({ formatKind: 'image_carousel', carouselCards: [{ assetId }] }),
  },
  {
    operationId: 'logConversions',
    about: 'eventSource',
    names: 'advertiser',
    body: (advertiserId) => ({
      advertiserId: Number(advertiserId),
      events: [{ eventId: 'mine', eventTime: new Date().toISOString() }],
    }),
  },
  {
    operationId: 'updateWebhookSubscription',
    about: 'webhook',
    names: 'advertiser',
    body: (advertiserId) => ({ advertiserIds: [Number(advertiserId)] }),
  },
  {
    operationId: 'mapCreativeEngineAccount',
    about: 'connection',
    names: 'advertiser',
    body: (advertiserId) => ({ advertiserId: Number(advertiserId) }),
  },
  {
    operationId: 'createCreativeSession',
    about: 'campaign',
    names: 'connection',
    body: (connectionId) => ({ title: 'Mine', connectionId }),
  },
  {
    operationId: 'finalizeCreativeSession',
    about: 'session',
    names: 'variant',
    body: (variantId) => ({ variantId }),
  },
];

/** Query parameters that refer to no resource. */
const plainParameters = new Set([
  'accountsOffset',
  'actions',
  'actorOrigin',
  // Events of the resource in the path; cursors of the feed of events: `events.e2e.test.ts`.
  'after',
  'afterRevision',
  'asOf',
  'conversions',
  'dimensions',
  'enabled',
  'endDate',
  'endHour',
  // The key of an event source of the advertiser in the path.
  'eventSourceId',
  'eventType',
  'formatKind',
  'from',
  // Cursors of the feed of events: `realtime.e2e.test.ts`.
  'lastEventId',
  'lifetime',
  'limit',
  'mappingsOffset',
  'mediaBuyId',
  'mediaKind',
  'metrics',
  'name',
  'newest',
  'offset',
  'outcome',
  'path',
  'phase',
  'promoted',
  'report',
  'resourceType',
  'resourceTypes',
  'role',
  'sandbox',
  'search',
  'since',
  'skip',
  'source',
  'startDate',
  'startHour',
  'state',
  'status',
  'take',
  'to',
  'topics',
  'type',
  'types',
]);

/** The resource's id without the ids of its parents. */
const ownId = (kind: Kind, path: string): string =>
  (kind === 'connection' ? path.split('/')[1] : path.split('/').at(-1)) ?? path;

const never: Belongings = {
  advertiser: '2147483647',
  archived: '2147483647',
  apiKey: 'aaaaaaaaaaaaaaaa',
  connectedApp: '00000000-0000-5000-8000-000000000000',
  userSession: '00000000-0000-5000-8000-000000000000',
  eventSource: 'never',
  task: '00000000-0000-4000-8000-000000000000',
  agent: `agt_${'0'.repeat(32)}`,
  campaign: `cmp_${'0'.repeat(32)}`,
  creative: `cre_${'0'.repeat(32)}`,
  campaignCreative: `cmp_${'0'.repeat(32)}/cre_${'0'.repeat(32)}`,
  creativeSeller: `cre_${'0'.repeat(32)}/1`,
  advertiserCreative: `2147483647/cre_${'0'.repeat(32)}`,
  attachment: `2147483647/cre_${'0'.repeat(32)}/cmp_${'0'.repeat(32)}`,
  session: `cmp_${'0'.repeat(32)}/ses_${'0'.repeat(32)}`,
  proposalRequest: `cmp_${'0'.repeat(32)}/prq_${'0'.repeat(32)}`,
  variant: `cmp_${'0'.repeat(32)}/ses_${'0'.repeat(32)}/var_${'0'.repeat(32)}`,
  asset: `2147483647/ast_${'0'.repeat(32)}`,
  connection: `1/con_${'0'.repeat(32)}/sandbox-1`,
  audience: '2147483647/never',
  catalog: '2147483647/never',
  record: `2147483647/syn_${'0'.repeat(32)}`,
  request: 'never-sent',
  user: '2147483647-1',
  invitation: '00000000-0000-5000-8000-000000000000',
  browserOrigin: '00000000-0000-5000-8000-000000000000',
  cursor: 'bmV2ZXI',
  webhook: `whs_${'0'.repeat(32)}`,
  webhookDelivery: `whs_${'0'.repeat(32)}/dlv_${'0'.repeat(32)}`,
  deliveryCursor: 'bmV2ZXI',
  upload: `upl_${'0'.repeat(32)}`,
  uploadToken: 'never.issued',
  storageKey: `${'0'.repeat(32)}-${'0'.repeat(24)}.txt`,
};

interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  /** Undefined for a route without an API key. */
  readonly scope: string | undefined;
  readonly needsSession: boolean;
  /** Names of its query parameters. */
  readonly asked: readonly string[];
}

interface ApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId: string;
            readonly security: readonly {
              readonly bearer?: readonly string[];
              readonly session?: readonly string[];
            }[];
            readonly parameters: readonly { readonly name: string; readonly in: string }[];
          }
        >
      >
    >
  >;
}

const operationsOf = async ({ baseUrl }: RunningService): Promise<readonly Operation[]> => {
  const { paths } = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as ApiDocument;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId, security, parameters }]) => ({
      operationId,
      method: method.toUpperCase(),
      path,
      scope: security[0]?.bearer?.[0],
      needsSession: security[0]?.session !== undefined,
      asked: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
    })),
  );
};

const stripping = stripTenants();

describe.each([
  ['with the shipped queries', undefined],
  ['with every predicate of an account removed', stripping],
] as const)('two accounts, %s', (_how, strip) => {
  let service: RunningService;
  /** Routes that need an API key. */
  let operations: readonly Operation[];
  let sessionOperations: readonly Operation[];
  let publicOperations: readonly Operation[];
  let a: TestAccount;
  let b: TestAccount;
  let theirs: Belongings;
  beforeAll(async () => {
    const replace = strip === undefined ? {} : { tenantStatement: strip.rewrite };
    service = await startRunningService({}, createLog('silent'), replace);
    const all = await operationsOf(service);
    operations = all.filter(({ scope }) => scope !== undefined);
    sessionOperations = all.filter(({ needsSession }) => needsSession);
    publicOperations = all.filter(({ scope, needsSession }) => scope === undefined && !needsSession);
    a = await service.openAccount('A');
    b = await service.openAccount('B');
    await a.api.post('/advertisers', { name: 'A1' });
    theirs = await belongingsOf(b);
  }, 120_000);
  afterAll(() => service.stop());

  /** @param prefix of the ids that the client chooses */
  const belongingsOf = async (account: TestAccount, prefix = 'b'): Promise<Belongings> => {
    const { api } = account;
    const ids: string[] = [];
    for (const name of ['B1', 'B2']) {
      ids.push(String((await api.post<AdvertiserResource>('/advertisers', { name })).body.data.id));
    }
    expect((await api.delete(`/advertisers/${ids[1]}`)).status).toBe(204);
    const request = `request-of-${prefix}`;
    const key = await api.post<{ id: string }>('/api-keys', { name: 'B' }, { 'X-Request-Id': request });
    const advertiser = ids[0] ?? '';
    const eventSource = `${prefix}-website`;
    const synced = await api.post(`/advertisers/${advertiser}/event-sources/sync`, {
      account: { account_id: advertiser },
      event_sources: [{ event_source_id: eventSource }],
    });
    expect(synced.status).toBe(200);
    const accepted = await api.post<{ taskId: string }>(`/advertisers/${advertiser}/audiences/sync`, {
      audiences: [{ audienceId: `${prefix}-customers`, add: [{ hashedEmail: 'b'.repeat(64) }] }],
    });
    const task = accepted.body.data.taskId;
    expect((await api.get(`/tasks/${task}`)).status).toBe(200);
    const agent = await registerAgent(api);
    const toggle = { resourceId: eventSource, adcpAgentIds: [agent], enabled: false };
    const syndicated = await api.post<{ id: string }[]>(`/advertisers/${advertiser}/syndicate`, toggle);
    expect(syndicated.status).toBe(201);
    const catalogs = { catalogs: [{ catalog_id: `${prefix}-shoes`, type: 'product', items: [{}] }] };
    expect((await api.post(`/advertisers/${advertiser}/catalogs/sync`, catalogs)).status).toBe(200);
    const campaign = (
      await api.post<{ id: string }>('/campaigns', { advertiserId: Number(advertiser), name: 'B' })
    ).body.data.id;
    const creative = (
      await api.post<{ id: string }>(`/campaigns/${campaign}/creatives/create`, { formatKind: 'image' })
    ).body.data.id;
    const session = await startSession(api, campaign);
    const { assetId } = await upload(
      api,
      advertiser,
      { name: 'B', mimeType: 'text/plain' },
      Buffer.from('b'),
    );
    const connected = await api.post<{ id: string }>('/creative-engines/1/connections', { apiKey: 'sbx_b' });
    await startSession(api, campaign);
    // A seller's report about the current day and one campaign.
    await service.pool.query(
      `insert into seller_delivery_days (customer_id, day, seller_id, media_buy_id, revision, advertiser_id,
         campaign_id, currency, spend, reported_at)
       values ($1, (now() at time zone 'UTC')::date, 1, $2, 0, $3, $4, 'USD', 1, now())`,
      [account.customerId, `mb-${prefix}`, advertiser, campaignIdOf(campaign)],
    );
    // The built-in sellers have no agent: the execution ends at once.
    const asked = await api.post<{ executionId: string }>(`/campaigns/${campaign}/proposal-requests`, {
      sellerIds: [1],
    });
    const sessions = await api.get<{ nextCursor: string }>(
      `/campaigns/${campaign}/creative-sessions?limit=1`,
    );
    const { url } = (await api.get<{ url: string }>(`/advertisers/${advertiser}/assets/${assetId}`)).body
      .data;
    const reserved = (await reserve(api, advertiser, { name: 'B', mimeType: 'text/plain' })).body.data;
    return {
      advertiser,
      archived: ids[1] ?? '',
      apiKey: key.body.data.id,
      connectedApp: await connectApp(account),
      userSession: (await sessionOf(await signedIn(account)))[0] ?? '',
      eventSource,
      task,
      agent,
      campaign,
      creative,
      campaignCreative: `${campaign}/${creative}`,
      creativeSeller: `${creative}/1`,
      advertiserCreative: `${advertiser}/${creative}`,
      attachment: `${advertiser}/${creative}/${campaign}`,
      ...session,
      proposalRequest: `${campaign}/${asked.body.data.executionId}`,
      asset: `${advertiser}/${assetId}`,
      connection: `1/${connected.body.data.id}/sandbox-1`,
      audience: `${advertiser}/${prefix}-customers`,
      catalog: `${advertiser}/${prefix}-shoes`,
      record: `${advertiser}/${syndicated.body.data[0]?.id}`,
      request,
      user: await memberOf(account),
      invitation: await inviteTo(account, prefix),
      browserOrigin: await registerOrigin(account),
      cursor: sessions.body.data.nextCursor,
      ...(await subscribe(account)),
      upload: reserved.uploadId,
      uploadToken: new URL(reserved.uploadUrl).searchParams.get('token') ?? '',
      storageKey: new URL(url).pathname.split('/').at(-1) ?? '',
    };
  };

  const connectApp = async ({ customerId }: TestAccount): Promise<string> => {
    const { store, pool } = service.installation;
    const writes = { store, clock: systemClock, rows: oauthGrantRowsIn(pool) };
    const grantId = randomUUID();
    const app = { clientId: 'client', clientName: 'App', scopes: ['exchange:read' as const], resources: [] };
    const commandId = randomUUID();
    const context = { commandId, customerId, actor: 'operator', requestId: commandId };
    await authorizeClient(writes, { ...app, grantId, userId: `${customerId}-1` }, context);
    return grantId;
  };

  const signedIn = ({ customerId }: TestAccount): Promise<Person> =>
    setUpByLink(service, customerId, `${customerId}-1`, `user-of-${customerId}@example.test`);
  const sessionOf = async (person: Person): Promise<readonly string[]> =>
    (await person.get<{ id: string }[]>('/api/v2/accounts/current/sessions')).body.data.map(({ id }) => id);

  /** Creates a user with events. @returns the user's id */
  const memberOf = async ({ customerId }: TestAccount): Promise<string> => {
    const userId = await createUser(service.installation, customerId, { name: 'Member', role: 'member' });
    const { key } = await createKey(service.installation, customerId, { name: 'Member', userId });
    const made = await apiOf(service.baseUrl, as(key)).post('/advertisers', { name: 'By a member' });
    expect(made.status).toBe(201);
    return userId;
  };

  const inviteTo = async ({ customerId }: TestAccount, prefix: string): Promise<string> => {
    const person = { email: `invited-by-${prefix}@example.com`, role: 'member' } as const;
    return (await inviteUser(service.installation, customerId, person)).invitation.id;
  };

  const registerOrigin = async ({ api }: TestAccount): Promise<string> =>
    (await api.post<{ id: string }>('/browser-origins', { origin: 'https://b.example.com' })).body.data.id;

  const subscribe = async ({
    api,
    customerId,
  }: TestAccount): Promise<Pick<Belongings, 'webhook' | 'webhookDelivery' | 'deliveryCursor'>> => {
    const path = '/webhook-subscriptions';
    const made = await api.post<{ subscription: { id: string } }>(path, subscription);
    const webhook = made.body.data.subscription.id;
    const deliveries = [randomUUID(), randomUUID()];
    await service.pool.query(
      `insert into webhook_deliveries (customer_id, id, subscription_id, message_id, kind, state)
       select $1, id, $2, gen_random_uuid(), 'task.failed', 'failed' from unnest($3::uuid[]) as d(id)`,
      [customerId, webhookIdOf(webhook), deliveries],
    );
    const page = await api.get<{ nextCursor: string }>(`${path}/${webhook}/deliveries?limit=1`);
    const webhookDelivery = `${webhook}/${shownDeliveryId(deliveries[0] ?? '')}`;
    return { webhook, webhookDelivery, deliveryCursor: page.body.data.nextCursor };
  };

  const startSession = async (
    api: TestAccount['api'],
    campaign: string,
  ): Promise<Pick<Belongings, 'session' | 'variant'>> => {
    const sessions = `/campaigns/${campaign}/creative-sessions`;
    const { id } = (await api.post<{ id: string }>(sessions, { title: 'B' })).body.data;
    const { variants } = (await api.get<{ variants: { id: string }[] }>(`${sessions}/${id}`)).body.data;
    return { session: `${campaign}/${id}`, variant: `${campaign}/${id}/${variants[0]?.id}` };
  };

  const registerAgent = async (api: TestAccount['api']): Promise<string> => {
    const agent = { name: 'Agent', url: 'https://agent.example.com/mcp', protocol: 'MCP' };
    return (await api.post<{ id: string }>('/adcp-agents', { ...agent, accountId: 'acct' })).body.data.id;
  };

  const send = async (
    { operationId, method, path }: Operation,
    headers: Readonly<Record<string, string>>,
    id = '',
    body?: object,
    query = rows[operationId]?.query ?? '',
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const values = id.split('/');
    const filled = path.replaceAll(/\{\w+\}/g, () => values.shift() ?? '');
    const answer = await fetch(service.baseUrl + filled + query, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await textOf(answer);
    return { status: answer.status, text: text.replace(rows[operationId]?.varies ?? '', '') };
  };
  const as = (apiKey: string) => ({ Authorization: `Bearer ${apiKey}` });

  /** All data of an account: its events and its reads. */
  const everythingOf = async (account: TestAccount): Promise<string> =>
    JSON.stringify([
      await service.eventsOfAccount(account),
      (await account.api.get('/advertisers?status=ALL')).text,
      (await account.api.get('/event-sources/b-website')).text,
      (await account.api.get('/adcp-agents')).text,
      // Failed deliveries are tried again meanwhile.
      (await account.api.get('/webhook-subscriptions')).text.replaceAll(
        /"(?:failureCount|lastFailure)":[^,]+,/g,
        '',
      ),
      (await account.api.get('/campaigns')).text,
      (await account.api.get('/creative-engines/1/connections')).text,
      account === b ? (await b.api.get(`/creatives/${theirs.creative}/detail`)).text : '',
      account === b ? (await b.api.get(`/campaigns/${theirs.campaign}/creative-sessions`)).text : '',
      account === b ? (await b.api.get(`/campaigns/${theirs.campaign}/proposal-requests`)).text : '',
      account === b ? (await b.api.get(`/advertisers/${theirs.advertiser}/assets`)).text : '',
      account === b ? (await b.api.get(`/advertisers/${theirs.advertiser}/syndication-status`)).text : '',
      (await account.api.get('/browser-origins')).text,
      (
        await service.pool.query('select * from users where customer_id = $1 order by user_id', [
          account.customerId,
        ])
      ).rows,
      (await service.pool.query('select * from invitations where customer_id = $1', [account.customerId]))
        .rows,
      (await service.pool.query('select * from oauth_grants where customer_id = $1', [account.customerId]))
        .rows,
      (await account.api.get('/api-keys')).text.replaceAll(/"lastUsedAt":"[^"]+",/g, ''),
    ]);

  it('have a row for every route', () => {
    const names = (some: readonly Operation[]) => some.map(({ operationId }) => operationId).sort();
    expect(names(operations)).toEqual(Object.keys(rows).sort());
    expect(names(sessionOperations)).toEqual([...sessionRows].sort());
    expect(names(publicOperations)).toEqual(Object.keys(publicRows).sort());
  });

  it('have every query parameter classified as a reference or as plain', () => {
    const asked = new Set(
      [...operations, ...sessionOperations, ...publicOperations].flatMap((operation) => operation.asked),
    );
    const known = new Set([
      ...Object.keys(references).filter((name) => !name.includes(' of ')),
      ...plainParameters,
    ]);
    expect([...asked].sort()).toEqual([...known].sort());
  });

  it("get the same answer for another account's resource as for an unknown id, and write nothing", async () => {
    const before = [await service.store.head(), await everythingOf(b)];
    let probes = 0;
    for (const operation of operations) {
      const { refersTo = [], body } = rows[operation.operationId] ?? {};
      for (const kind of refersTo) {
        // Lists accept a time only.
        const points = /^(list|query)/.test(operation.operationId) ? [LATER] : ['1', LATER];
        const asOf = operation.asked.includes('asOf')
          ? points.map((point) => [{}, `?asOf=${point}`] as const)
          : [];
        const variants = [[{}], [{ 'X-Customer-Id': String(b.customerId) }], ...asOf] as const;
        const nothing = { ...theirs, [kind]: never[kind] };
        const answers = await Promise.all(
          variants.map(async ([extra, asked]) => {
            const headers = { ...as(a.apiKey), ...extra };
            const foreign = await send(operation, headers, theirs[kind], body?.(theirs, b), asked);
            const absent = await send(operation, headers, never[kind], body?.(nothing, b), asked);
            return [foreign, { status: 404, text: absent.text }];
          }),
        );
        for (const [foreign, absent] of answers) {
          expect([operation.operationId, kind, foreign]).toEqual([operation.operationId, kind, absent]);
          probes += 1;
        }
      }
    }
    expect([await service.store.head(), await everythingOf(b)]).toEqual(before);
    console.log(`${_how}: ${probes} references to another account's resources`);
  }, 120_000);

  it('list and count only their own resources', async () => {
    const advertisers = await a.api.get<AdvertiserResource[]>(
      `/advertisers?status=ALL&customerId=${b.customerId}`,
    );
    expect(advertisers.body.data.map(({ name, customerId }) => [name, customerId])).toEqual([
      ['A1', a.customerId],
    ]);
    expect(advertisers.body.meta.pagination.total).toBe(1);
    expect((await a.api.get('/advertisers?name=B')).body.meta.pagination.total).toBe(0);
    const connections = await a.api.get('/creative-engines/1/connections');
    expect([connections.body.data, connections.body.meta.pagination.total]).toEqual([[], 0]);
    const keys = await a.api.get('/api-keys');
    expect(keys.body.meta.pagination.total).toBe(1);
    expect(keys.text).not.toContain(theirs.apiKey);
    const audit = await a.api.get('/audit-logs?take=500&outcome=success');
    expect(audit.text).toContain('"A1"');
    expect(audit.text).not.toMatch(/"B1"|b-website|request-of-b/);
    // The log of refusals, which lags, contains only its own entries: they name the requested ids.
    const refused = await a.api.get<{ logs: { userId?: string }[] }>('/audit-logs?take=500&outcome=failed');
    const own = new RegExp(`^${a.customerId}-`);
    expect(refused.body.data.logs.filter(({ userId = '' }) => !own.test(userId))).toEqual([]);
    const ofTheirs = `resourceId=${theirs.advertiser}&advertiserId=${theirs.advertiser}`;
    const foreign = await a.api.get(`/audit-logs?${ofTheirs}&outcome=success`);
    expect(foreign.body.data).toEqual({ logs: [], total: 0, truncated: false });
    const current = await fetch(`${service.baseUrl}/api/v2/accounts/current`, { headers: as(a.apiKey) });
    expect(await current.json()).toMatchObject({ data: { id: a.customerId, company: 'A' } });
  });

  it("cannot filter or page lists by another account's resources", async () => {
    const mine = await service.openAccount('E');
    const own = await belongingsOf(mine, 'e');
    const before = [await service.store.head(), await everythingOf(b)];
    let probes = 0;
    for (const operation of operations) {
      const { refersTo: [kind] = [], at = '', body, query } = rows[operation.operationId] ?? {};
      const path = kind === undefined ? at : own[kind];
      // Only sellers' keys may call these routes. They see the submissions of all accounts to them.
      if (operation.scope === 'exchange:review') continue;
      for (const name of operation.asked) {
        for (const named of referencesOf(operation, name)) {
          const ask = (belongings: Belongings) => {
            const value = `${name}=${encodeURIComponent(ownId(named, belongings[named]))}`;
            const asked = query === undefined ? `?${value}` : `${query}&${value}`;
            return send(operation, as(mine.apiKey), path, body?.(own, mine), asked);
          };
          const what = [operation.operationId, name, named];
          const [foreign, absent] = [await ask(theirs), await ask(never)];
          expect([...what, foreign]).toEqual([...what, absent]);
          // The account's own id changes the answer, so the parameter is evaluated.
          if (name !== 'resourceId' && named !== 'archived') {
            const ofOwn = await ask(own);
            expect([...what, ofOwn.status, ofOwn.text === absent.text]).toEqual([...what, 200, false]);
          }
          probes += 1;
        }
      }
    }
    expect([await service.store.head(), await everythingOf(b)]).toEqual(before);
    console.log(`${_how}: ${probes} filters by another account's resources`);
  }, 120_000);

  it("cannot refer to another account's resources in a body", async () => {
    const mine = await service.openAccount('F');
    const own = await belongingsOf(mine, 'f');
    const before = [await service.store.head(), await everythingOf(b)];
    for (const { operationId, about, names, body } of namedInBodies) {
      const operation = operations.find((one) => one.operationId === operationId) as Operation;
      const ask = (belongings: Belongings) =>
        send(operation, as(mine.apiKey), own[about], body(ownId(names, belongings[names])));
      const [foreign, absent] = [await ask(theirs), await ask(never)];
      expect([operationId, absent.status]).toEqual([operationId, 404]);
      expect([operationId, foreign]).toEqual([operationId, absent]);
    }
    expect([await service.store.head(), await everythingOf(b)]).toEqual(before);
  });

  it("cannot use the token of another account's upload, in both directions", async () => {
    const mine = await service.openAccount('G');
    const own = await belongingsOf(mine, 'g');
    const [grant, signature] = [theirs.uploadToken.split('.')[0], own.uploadToken.split('.')[1]];
    const tokens = [undefined, own.uploadToken, `${grant}.${signature}`, never.uploadToken, mine.apiKey];
    const files = async () => await storedFiles(service.dataDir);
    const before = [await service.store.head(), await everythingOf(b), await files()];
    const uploads = publicOperations.filter(({ operationId }) => publicRows[operationId] === 'upload');
    for (const { method, path } of uploads) {
      const sendTo = async (uploadId: string, token: string | undefined, isInAddress = true) => {
        const query = token === undefined || !isInAddress ? '' : `?token=${token}`;
        const plain = { 'Content-Type': 'application/octet-stream', ...as(mine.apiKey) };
        const headers = token === undefined || isInAddress ? plain : { ...plain, 'X-Upload-Token': token };
        const address = service.baseUrl + path.replace('{uploadId}', uploadId) + query;
        const answer = await fetch(address, { method, headers, body: 'theirs' });
        return [answer.status, await answer.text()] as const;
      };
      for (const isInAddress of [true, false]) {
        for (const token of tokens) {
          const absent = await sendTo(never.upload, token, isInAddress);
          expect(absent[0]).toBe(401);
          expect(await sendTo(theirs.upload, token, isInAddress)).toEqual(absent);
        }
        const absent = await sendTo(never.upload, theirs.uploadToken, isInAddress);
        expect(absent[0]).toBe(401);
        expect(await sendTo(own.upload, theirs.uploadToken, isInAddress)).toEqual(absent);
      }
      expect([await service.store.head(), await everythingOf(b), await files()]).toEqual(before);
      // Each upload accepts its own token, so the refusals above are not general.
      const wanted = await reserve(mine.api, own.advertiser, { name: 'G', mimeType: 'text/plain' });
      const { uploadId, uploadUrl } = wanted.body.data;
      const token = new URL(uploadUrl).searchParams.get('token') ?? '';
      expect((await sendTo(uploadId, token))[0]).toBe(200);
      before[0] = await service.store.head();
      before[2] = await files();
    }
  });

  it('get the same answer from public routes, without account data', async () => {
    const credentials = [{}, as(a.apiKey), as(b.apiKey), { 'X-Customer-Id': String(b.customerId) }];
    const read = async (path: string, headers: Record<string, string>) => {
      const answer = await fetch(service.baseUrl + path, { headers });
      return { status: answer.status, text: await answer.text() };
    };
    const [aFile = ''] = await readdir('dist/console/assets');
    const [aScript = ''] = await readdir('dist/api-reference');
    for (const { operationId, path } of publicOperations) {
      const shows = publicRows[operationId];
      if (shows === 'upload' || shows === 'protocol') continue;
      const at = (key: string) =>
        path
          .replace('/guides/{file}', '/guides/campaigns.md')
          .replace('/docs/assets/{file}', `/docs/assets/${aScript.replace('.gz', '')}`)
          .replace('{file}', aFile)
          .replace(/\{\w+\}/, key);
      const answers = await Promise.all(credentials.map((headers) => read(at(theirs.storageKey), headers)));
      for (const { status, text } of answers) {
        expect([operationId, status]).toEqual([operationId, 200]);
        const shown = Object.values(theirs).filter((value) => value.length > 8 && text.includes(value));
        expect([operationId, shown]).toEqual([operationId, []]);
      }
      if (shows === 'nothing') continue;
      expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['b']));
      const absent = await read(at(never.storageKey), as(b.apiKey));
      expect(absent.status).toBe(404);
      // The asset's id does not reveal its address.
      const guessed = theirs.storageKey.replace(/-[0-9a-f]{24}/, `-${'0'.repeat(24)}`);
      expect(guessed).not.toBe(theirs.storageKey);
      expect(await read(at(guessed), as(a.apiKey))).toEqual(absent);
    }
  });

  it('own the resources that they create, regardless of the body', async () => {
    const before = await everythingOf(b);
    const mine = await service.openAccount('C');
    const own = await belongingsOf(mine);
    for (const operation of operations.filter(({ operationId }) => /^(?:create|reserve)/.test(operationId))) {
      const { refersTo: [kind] = [], body } = rows[operation.operationId] ?? {};
      const [id, belongings] = kind === undefined ? ['', theirs] : [own[kind], own];
      const answer = await send(operation, as(mine.apiKey), id, body?.(belongings, b));
      expect([operation.operationId, answer.status]).toEqual([operation.operationId, 201]);
      const events = await service.eventsOfAccount(mine);
      expect(events.at(-1)?.stream).toMatch(new RegExp(`-${mine.customerId}(-[\\da-f-]+)?$`));
    }
    expect(await everythingOf(b)).toBe(before);
  });

  it("cannot syndicate another account's resources, nor to another account's agents", async () => {
    const [mine] = (await a.api.get<AdvertiserResource[]>('/advertisers')).body.data;
    const own = await registerAgent(a.api);
    await a.api.post(`/advertisers/${mine?.id}/event-sources/sync`, {
      account: { account_id: String(mine?.id) },
      event_sources: [{ event_source_id: 'a-website' }],
    });
    const before = [await service.eventsOfAccount(a), await everythingOf(b)];
    const syndicate = (resourceId: string, adcpAgentIds: string[]) =>
      a.api.post(`/advertisers/${mine?.id}/syndicate`, { resourceId, adcpAgentIds, enabled: true });
    const foreign = await syndicate('a-website', [own, theirs.agent]);
    const absent = await syndicate('a-website', [own, never.agent]);
    expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
    expect(foreign.body.error?.field).toBe('adcpAgentIds.1');
    const resource = await syndicate(theirs.eventSource, [own]);
    expect([resource.status, resource.body.error?.field]).toEqual([404, 'resourceId']);
    const filters = `adcpAgentId=${theirs.agent}&resourceId=${theirs.eventSource}`;
    const records = await a.api.get(`/advertisers/${mine?.id}/syndication-status?${filters}`);
    expect(records.body.data).toEqual({ items: [], total: 0 });
    expect([await service.eventsOfAccount(a), await everythingOf(b)]).toEqual(before);
  });

  it("cannot attach another account's creatives, nor use another account's campaigns", async () => {
    const own = await belongingsOf(a);
    const other = (
      await a.api.post<{ id: string }>('/campaigns', { advertiserId: Number(own.advertiser), name: 'A' })
    ).body.data.id;
    const before = [await service.eventsOfAccount(a), await everythingOf(b)];
    const pairs = [
      [own.campaign, theirs.creative],
      [theirs.campaign, own.creative],
      [other, own.creative],
    ];
    for (const [campaign, creative] of pairs) {
      const path = `/campaigns/${campaign}/creatives/${creative}`;
      const answers = [
        await a.api.get(path),
        await a.api.put(path, { name: 'x' }),
        await a.api.post(`${path}/duplicate`),
        await a.api.delete(path),
      ];
      expect([path, ...answers.map(({ status }) => status)]).toEqual([path, 404, 404, 404, 404]);
    }
    const attach = (campaignId: string) =>
      a.api.post(`/advertisers/${own.advertiser}/creatives/${own.creative}/campaigns`, { campaignId });
    expect((await attach(theirs.campaign)).text).toBe((await attach(never.campaign)).text);
    const save = (id: string) =>
      a.api.post(`/advertisers/${own.advertiser}/creatives/save-to-library`, {
        creativeIds: [own.creative, id],
        role: 'evergreen',
      });
    expect((await save(theirs.creative)).text).toBe((await save(never.creative)).text);
    expect([await service.eventsOfAccount(a), await everythingOf(b)]).toEqual(before);
  });

  it("are visible to a seller's key only by their submissions to that seller", async () => {
    const web = await createSellerAccount(service.installation, 'Web', 1);
    const tv = await createSellerAccount(service.installation, 'TV', 2);
    const owner = await service.openAccount('D');
    const { id: advertiserId } = (await owner.api.post<AdvertiserResource>('/advertisers', { name: 'D1' }))
      .body.data;
    const campaign = (await owner.api.post<{ id: string }>('/campaigns', { advertiserId, name: 'D' })).body
      .data.id;
    const { id } = (
      await owner.api.post<{ id: string }>(`/campaigns/${campaign}/creatives/create`, {
        name: 'Ready',
        formatKind: 'display_tag',
        copy: { tag: '<b></b>' },
      })
    ).body.data;
    expect((await owner.api.post(`/creatives/${id}/submit`, { sellerIds: [1] })).status).toBe(202);
    const before = [await service.store.head(), await everythingOf(b)];
    for (const operation of operations) {
      const { refersTo: [kind] = [], at = '', body } = rows[operation.operationId] ?? {};
      if (['reviewCreative', 'listSellerSubmissions'].includes(operation.operationId)) continue;
      // A seller's user may have connected apps, too.
      if (/^(?:list|revoke)ConnectedApp/.test(operation.operationId)) continue;
      const refused = await send(operation, as(web.apiKey), kind ? theirs[kind] : at, body?.(theirs, b));
      expect([operation.operationId, refused.status, JSON.parse(refused.text)]).toMatchObject([
        operation.operationId,
        403,
        { error: { code: 'FORBIDDEN', details: { scope: operation.scope } } },
      ]);
    }
    const listing = operations.find(
      ({ operationId }) => operationId === 'listSellerSubmissions',
    ) as Operation;
    const list = (apiKey: string, seller: string) => send(listing, as(apiKey), seller);
    const listed = async (apiKey: string, seller: string): Promise<unknown> =>
      (
        JSON.parse((await list(apiKey, seller)).text) as {
          data: { submissions: readonly { creativeId: string }[] };
        }
      ).data.submissions.map(({ creativeId }) => creativeId);
    // Submissions of all accounts to this seller. Submissions to other sellers do not seem to exist.
    expect(await listed(web.apiKey, '1')).toContain(id);
    expect(await listed(tv.apiKey, '2')).toEqual([]);
    expect((await list(tv.apiKey, '1')).status).toBe(404);
    expect(await list(tv.apiKey, '1')).toEqual(await list(tv.apiKey, '999'));
    const review = operations.find(({ operationId }) => operationId === 'reviewCreative') as Operation;
    const decision = { status: 'approved', expectedRevision: 2 };
    const decide = (apiKey: string, path: string) => send(review, as(apiKey), path, decision);
    const absent = await decide(web.apiKey, never.creativeSeller);
    expect(absent.status).toBe(404);
    const others = [
      // Never submitted; submitted to another seller; reviewed for another seller.
      await decide(web.apiKey, theirs.creativeSeller),
      await decide(tv.apiKey, `${id}/2`),
      await decide(tv.apiKey, `${id}/1`),
      await decide(web.apiKey, `${id}/2`),
      await decide(web.apiKey, 'nonsense/1'),
    ];
    for (const answer of others) expect(answer).toEqual(absent);
    // Nor do buyers see the submissions of others.
    expect((await decide(a.apiKey, `${id}/1`)).text).toBe(
      (await decide(a.apiKey, never.creativeSeller)).text,
    );
    expect([await service.store.head(), await everythingOf(b)]).toEqual(before);
    expect((await decide(web.apiKey, `${id}/1`)).status).toBe(200);
  });

  it('can use the same Idempotency-Key independently', async () => {
    const headers = { 'Idempotency-Key': 'the-same-key-in-two-accounts' };
    const first = await b.api.post<AdvertiserResource>('/advertisers', { name: 'B3' }, headers);
    const second = await a.api.post<AdvertiserResource>('/advertisers', { name: 'A2' }, headers);
    expect([second.status, second.body.data.name, second.headers.get('idempotent-replayed')]).toEqual([
      201,
      'A2',
      null,
    ]);
    expect(second.body.data.id).not.toBe(first.body.data.id);
  });

  it('routes for signed-in persons accept no API key', async () => {
    for (const operation of sessionOperations) {
      const statuses = [{}, as(a.apiKey)].map(
        async (headers) => (await send(operation, headers, '1')).status,
      );
      expect([operation.operationId, ...(await Promise.all(statuses))]).toEqual([
        operation.operationId,
        401,
        403,
      ]);
    }
  });

  it("signed-in persons see and end only their own account's sessions", async () => {
    const person = await signedIn(await service.openAccount('Signed in'));
    const own = await sessionOf(person);
    expect(own).toHaveLength(1);
    expect(own).not.toContain(theirs.userSession);
    const end = (id: string) => person.delete(`/api/v2/accounts/current/sessions/${id}`);
    const [foreign, absent] = [await end(theirs.userSession), await end(never.userSession)];
    expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
    const ended = await service.pool.query(
      'select from sessions where session_id = $1 and ended_at is null',
      [theirs.userSession],
    );
    expect(ended.rowCount).toBe(1);
  });

  it('no route accepts an unknown, ended or insufficient credential', async () => {
    const key = async (body: object): Promise<{ id: string; key: string }> =>
      (await b.api.post<{ id: string; key: string }>('/api-keys', { name: 'x', ...body })).body.data;
    const revoked = await key({});
    await b.api.delete(`/api-keys/${revoked.id}`);
    const expiresAt = new Date(Date.now() + 2_000).toISOString();
    const expired = await key({ expiresAt });
    const closed = await service.openAccount('Closed');
    await setAccess(service.installation, closed.customerId, 'disabled');
    while (Date.now() < Date.parse(expiresAt) + 50) await new Promise((done) => setTimeout(done, 50));
    const narrow = new Map<string, string>();
    for (const scope of ['exchange:read', 'exchange:write', 'exchange:admin', 'exchange:review']) {
      const others = ['exchange:read', 'exchange:write', 'exchange:admin'].filter((one) => one !== scope);
      narrow.set(scope, (await key({ scopes: others })).key);
    }
    const credentials: Record<string, Record<string, string>> = {
      none: {},
      basic: { Authorization: 'Basic dXNlcjpwYXNz' },
      cookie: { Cookie: `__Host-sc_session=${b.apiKey}` },
      malformed: as('nonsense'),
      unknown: as(`bx_${'a'.repeat(16)}_${'b'.repeat(43)}`),
      otherSecret: as(`bx_${theirs.apiKey}_${b.apiKey.slice(-43)}`),
      revoked: as(revoked.key),
      expired: as(expired.key),
      disabledAccount: as(closed.apiKey),
    };
    const before = [await service.store.head(), await everythingOf(b)];
    const bodies = new Set<string>();
    for (const operation of operations) {
      const { refersTo: [kind] = [], at = '', body } = rows[operation.operationId] ?? {};
      const id = kind === undefined ? at : theirs[kind];
      await Promise.all(
        Object.entries(credentials).map(async ([name, headers]) => {
          const overridden = { ...headers, 'X-HTTP-Method-Override': 'GET' };
          const answer = await send(operation, overridden, id, body?.(theirs, b));
          expect([operation.operationId, name, answer.status]).toEqual([operation.operationId, name, 401]);
          if (!['none', 'basic', 'cookie'].includes(name)) bodies.add(answer.text);
        }),
      );
      const weak = await send(operation, as(narrow.get(operation.scope ?? '') ?? ''), id, body?.(theirs, b));
      expect([operation.operationId, weak.status, JSON.parse(weak.text)]).toMatchObject([
        operation.operationId,
        403,
        { error: { code: 'FORBIDDEN', details: { scope: operation.scope } } },
      ]);
      if (operation.method === 'GET') {
        const head = { ...operation, method: 'HEAD' };
        expect((await send(head, credentials['revoked'] ?? {}, id)).status).toBe(401);
      }
    }
    expect(bodies.size).toBe(1);
    expect([await service.store.head(), await everythingOf(b)]).toEqual(before);
    const kinds = Object.keys(credentials).length + 1;
    console.log(`${_how}: ${operations.length} routes, ${kinds} insufficient credentials, none accepted`);
  }, 120_000);

  if (strip === undefined) return;
  it('the predicates were removed, and without the policies every read would have leaked', async () => {
    expect([...strip.untouched]).toEqual(['api-key-insert', 'api-key-announce']);
    expect([...strip.stripped].sort()).toEqual(
      expect.arrayContaining(['api-key-revoke', 'current-account', 'get-advertisers', 'list-api-keys']),
    );
    const pool = createPool(
      {
        connectionString: service.databaseUrl,
        applicationName: 'unbound',
        max: 1,
        system: true,
        verify: async (client) => void (await client.query(prepareBinding)),
      },
      createLog('silent'),
    );
    const database = createTenantDatabase(pool, strip.rewrite);
    const reads = { database, progress: createProjectionProgress(), store: service.store };
    const leaking = rowReader(reads, advertiserRows, 'int');
    expect(await leaking(a.customerId, Number(theirs.advertiser))).toContain('B1');
    await pool.end();
  });
});
