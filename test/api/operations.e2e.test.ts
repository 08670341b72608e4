import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { refusalOf } from '../support/api-client.ts';
import { checkOpenApi } from '../support/check-openapi.ts';
import { leanApiOf } from '../support/lean-api.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Health, metrics, the API's description, logs and shutdown. */

const lines: Record<string, unknown>[] = [];
const log = pino(
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  }),
);

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, log);
  account = await service.openAccount();
});
afterAll(() => service.stop());

const get = (path: string): Promise<Response> => fetch(service.baseUrl + path);
const lineOf = async (requestId: string): Promise<Record<string, unknown> | undefined> => {
  for (let tries = 0; tries < 100; tries++) {
    const line = lines.find((one) => one['requestId'] === requestId && one['msg'] === 'request');
    if (line !== undefined) return line;
    await sleep(10);
  }
  return undefined;
};

describe('health and readiness', () => {
  it('/health reports that the service and its parts work', async () => {
    let health: unknown;
    for (let tries = 0; tries < 200; tries++) {
      const answer = await get('/health');
      health = await answer.json();
      if (!JSON.stringify(health).includes('unavailable')) break;
      await sleep(50);
    }
    expect(health).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      services: { eventStore: 'ok', readModel: 'ok', queue: 'ok' },
    });
  });

  it('no answer may be kept by a cache, apart from files that never change', async () => {
    const cacheControl = async (path: string, init?: RequestInit): Promise<string | null> =>
      (await fetch(service.baseUrl + path, init)).headers.get('cache-control');
    const headers = { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' };
    const api = '/api/v2/buyer';
    expect(
      await Promise.all([
        cacheControl(`${api}/advertisers`, { headers }),
        cacheControl(`${api}/advertisers/2147483647`, { headers }),
        cacheControl(`${api}/api-keys`, { headers, method: 'POST', body: '{"name":"Cached"}' }),
        cacheControl(`${api}/media-buys`, { headers }),
        cacheControl(`${api}/advertisers`),
        cacheControl('/assets/none'),
        cacheControl('/ready'),
      ]),
    ).toEqual(Array.from({ length: 7 }, () => 'no-store'));
  });

  it('/live reports that the process runs', async () => {
    const answer = await get('/live');
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('/ready is 200 soon after the start, and names its checks', async () => {
    let answer = await get('/ready');
    for (let tries = 0; answer.status !== 200 && tries < 100; tries++) {
      await sleep(50);
      answer = await get('/ready');
    }
    const { status, parts } = (await answer.json()) as { status: string; parts: Record<string, unknown> };
    expect({ status, ...parts }).toMatchObject({
      status: 'ready',
      database: { ready: true },
      eventStore: { ready: true },
      projections: { ready: true },
      rateLimits: { ready: true },
    });
  });

  it('/ready tells the public how far the read models are, and operators the rest', async () => {
    type Parts = Record<string, { detail?: { projections?: Record<string, unknown>[] } }>;
    const partsAt = async (url: string): Promise<Parts> =>
      ((await (await fetch(`${url}/ready`)).json()) as { parts: Parts }).parts;
    const shown = await partsAt(service.baseUrl);
    const withDetail = Object.keys(shown).filter((name) => shown[name]?.detail !== undefined);
    expect(withDetail).toEqual(['projections']);
    const [model] = shown['projections']?.detail?.projections ?? [];
    // No position: its pace tells how busy all accounts are. No parked streams: their names are of tenants.
    expect(Object.keys(shown['projections']?.detail ?? {})).toEqual(['degraded', 'projections']);
    expect(Object.keys(model ?? {})).toEqual([
      'name',
      'state',
      expect.stringMatching(/^lag/),
      'parkedStreams',
    ]);

    const store = service.stores['REDIS_URL'] === undefined ? 'memory' : 'redis';
    expect(await partsAt(service.operatorUrl)).toMatchObject({
      eventStore: { ready: true, detail: { kind: expect.any(String), head: expect.any(String) } },
      projections: { detail: { parked: [], projections: expect.anything() } },
      rateLimits: { ready: true, detail: { store, counted: 'together' } },
    });
  });

  it('/metrics counts requests by route pattern, never by path', async () => {
    await account.api.get('/advertisers/2147483647');
    const answer = await fetch(`${service.operatorUrl}/metrics`);
    const text = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/plain/),
    ]);
    expect(text).toMatch(
      /^http_server_request_duration_seconds_count\{http_route="\/api\/v2\/buyer\/advertisers\/\{id\}",http_request_method="GET",http_response_status_code="404"\} \d+$/m,
    );
    expect(text).not.toContain('2147483647');
  });

  it('/metrics is not for clients', async () => expect((await get('/metrics')).status).toBe(404));
});

describe('/openapi.json', () => {
  interface Document {
    readonly servers: unknown;
    readonly paths: Record<string, Record<string, { operationId: string; security: unknown }>>;
  }

  /** Resource types with a history, and their paths. */
  const pasts = {
    Account: '/api/v2/accounts/current',
    Advertiser: '/api/v2/buyer/advertisers/{id}',
    Agent: '/api/v2/buyer/adcp-agents/{id}',
    ApiKey: '/api/v2/buyer/api-keys/{id}',
    Asset: '/api/v2/buyer/advertisers/{id}/assets/{assetId}',
    BrowserOrigin: '/api/v2/buyer/browser-origins/{id}',
    Invitation: '/api/v2/accounts/current/invitations/{id}',
    Audience: '/api/v2/buyer/advertisers/{id}/audiences/{audienceId}',
    Campaign: '/api/v2/buyer/campaigns/{id}',
    Catalog: '/api/v2/buyer/advertisers/{id}/catalogs/{catalogId}',
    ConnectedApp: '/api/v2/accounts/current/connected-apps/{grantId}',
    Connection: '/api/v2/buyer/creative-engines/{id}/connections/{connectionId}',
    Creative: '/api/v2/buyer/creatives/{cid}',
    CreativeSession: '/api/v2/buyer/campaigns/{id}/creative-sessions/{sid}',
    EventSource: '/api/v2/buyer/event-sources/{key}',
    ProposalRequest: '/api/v2/buyer/campaigns/{id}/proposal-requests/{executionId}',
    Session: '/api/v2/accounts/current/sessions/{id}',
    SyndicationRecord: '/api/v2/buyer/advertisers/{id}/syndication-status/{recordId}',
    Task: '/api/v2/buyer/tasks/{taskId}',
    User: '/api/v2/buyer/users/{id}',
    WebhookSubscription: '/api/v2/buyer/webhook-subscriptions/{id}',
  };

  /** Only for signed-in persons. */
  const signedIn = [
    'get /api/console/oauth/{uid} getConsentRequest',
    'post /api/console/oauth/{uid} decideConsent',
    'post /auth/sign-out signOut',
    'post /auth/password changePassword',
    'get /api/v2/accounts/current/user getCurrentUser',
    'get /api/v2/accounts/current/sessions listSessions',
    'delete /api/v2/accounts/current/sessions endOtherSessions',
    'delete /api/v2/accounts/current/sessions/{id} endSession',
    'post /api/v2/accounts/current/user/totp startTotp',
    'post /api/v2/accounts/current/user/totp/confirm confirmTotp',
    'post /api/v2/accounts/current/user/totp/disable disableTotp',
  ];
  const securityOf = (operation: string, path: string): readonly object[] | undefined => {
    if (signedIn.includes(operation)) return [{ session: [] }];
    return path.includes('/assets/uploads/{') ? [{ uploadToken: [] }] : undefined;
  };

  it('describes every route and no other path', async () => {
    const document = (await (await get('/openapi.json')).json()) as Document;
    expect(checkOpenApi(document)).toEqual([]);
    expect(document.servers).toEqual([{ url: service.baseUrl, description: expect.any(String) }]);
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    const expected = [
      ...signedIn,
      'post /auth/signup signUp',
      'post /auth/verify-email verifyEmail',
      'post /auth/sign-in signIn',
      'post /auth/password-reset/request requestPasswordReset',
      'post /auth/password-reset/verify verifyPasswordReset',
      'post /auth/password-reset/reset resetPassword',
      'post /auth/set-up setUp',
      'delete /api/v2/buyer/adcp-agents/{id} deleteAdcpAgent',
      'delete /api/v2/buyer/advertisers/{id} deleteAdvertiser',
      'delete /api/v2/buyer/advertisers/{id}/assets/{assetId} deleteAsset',
      'delete /api/v2/buyer/advertisers/{id}/creatives/{cid} archiveCreative',
      'delete /api/v2/buyer/advertisers/{id}/creatives/{cid}/campaigns/{campaignId} unassignCreativeFromCampaign',
      'delete /api/v2/buyer/api-keys/{id} revokeApiKey',
      'delete /api/v2/buyer/campaigns/{id} deleteCampaign',
      'delete /api/v2/buyer/campaigns/{id}/creatives/{cid} deleteCampaignCreative',
      'delete /api/v2/buyer/creative-engines/{id}/connections/{connectionId} disconnectCreativeEngine',
      'get /api/v2/accounts/current getCurrentAccount',
      'get /api/v2/accounts/current/members listMembers',
      'put /api/v2/accounts/current/members/{userId} changeMemberRole',
      'delete /api/v2/accounts/current/members/{userId} removeMember',
      'get /api/v2/accounts/current/invitations listInvitations',
      'post /api/v2/accounts/current/invitations inviteUser',
      'delete /api/v2/accounts/current/invitations/{id} revokeInvitation',
      'post /auth/invitations/accept acceptInvitation',
      'get /api/v2/buyer/browser-origins listBrowserOrigins',
      'post /api/v2/buyer/browser-origins createBrowserOrigin',
      'delete /api/v2/buyer/browser-origins/{id} deleteBrowserOrigin',
      'get /api/v2/buyer/adcp-agents listAdcpAgents',
      'get /api/v2/buyer/adcp-agents/{id} getAdcpAgent',
      'get /api/v2/buyer/advertisers listAdvertisers',
      'get /api/v2/buyer/advertisers/{advertiserId}/syndication-status querySyndicationStatus',
      'get /api/v2/buyer/advertisers/{id}/syndication-status/{recordId} getSyndicationRecord',
      'get /api/v2/buyer/advertisers/{id} getAdvertiser',
      'get /api/v2/buyer/advertisers/{id}/assets listAssets',
      'get /api/v2/buyer/advertisers/{id}/assets/{assetId} getAsset',
      'get /api/v2/buyer/advertisers/{id}/audiences listAudiences',
      'get /api/v2/buyer/advertisers/{id}/catalogs listCatalogs',
      'get /api/v2/buyer/advertisers/{id}/creatives listAdvertiserCreatives',
      'get /api/v2/buyer/advertisers/{id}/event-sources listEventSources',
      'get /api/v2/buyer/advertisers/{id}/events/received getReceivedEvents',
      'get /api/v2/buyer/advertisers/{id}/events/summary getEventSummary',
      'get /api/v2/buyer/api-keys listApiKeys',
      'get /api/v2/buyer/campaigns listCampaigns',
      'get /api/v2/buyer/campaigns/{id} getCampaign',
      'get /api/v2/buyer/campaigns/{id}/creative-sessions listCreativeSessions',
      'get /api/v2/buyer/campaigns/{id}/creative-sessions/{sid} getCreativeSession',
      'get /api/v2/buyer/campaigns/{id}/creatives listCampaignCreatives',
      'get /api/v2/buyer/campaigns/{id}/creatives/{cid} getCampaignCreative',
      'get /api/v2/buyer/creative-engines listCreativeEngines',
      'get /api/v2/buyer/creative-engines/{id} getCreativeEngine',
      'get /api/v2/buyer/creative-engines/{id}/connections listCreativeEngineConnections',
      'get /api/v2/buyer/creatives/{cid}/detail getCreativeDetail',
      'get /api/v2/buyer/event-sources/{key} getEventSource',
      'get /api/v2/buyer/sales-agents listSalesAgents',
      'get /api/v2/buyer/sellers listSellers',
      'get /api/v2/buyer/sellers/{sellerId}/submissions listSellerSubmissions',
      'get /api/v2/buyer/tasks/{taskId} getTask',
      'get /api/v2/buyer/events listEvents',
      'get /api/v2/buyer/realtime streamEvents',
      'get /api/v2/buyer/webhook-event-types listWebhookEventTypes',
      'get /assets/{storageKey} readAsset',
      'get / getFrontPage',
      'get /console getConsole',
      'get /console/assets/{file} getConsoleFile',
      'get /docs getApiReference',
      'get /docs/assets/{file} getApiReferenceScript',
      'get /guides/{file} getGuide',
      'get /llms.txt getLlms',
      'delete /mcp endMcpSession',
      'get /mcp streamMcp',
      'post /mcp callMcp',
      'delete /mcp/v3 endMcpV3Session',
      'get /mcp/v3 streamMcpV3',
      'post /mcp/v3 callMcpV3',
      'post /adcp/mcp callMcpAdcp',
      'get /.well-known/oauth-authorization-server getAuthorizationServer',
      'get /.well-known/oauth-protected-resource getProtectedResource',
      'get /.well-known/oauth-protected-resource/mcp getMcpProtectedResource',
      'get /.well-known/oauth-protected-resource/mcp/v3 getMcpV3ProtectedResource',
      'get /.well-known/oauth-protected-resource/adcp/mcp getMcpAdcpProtectedResource',
      'get /api/v2/accounts/current/connected-apps listConnectedApps',
      'delete /api/v2/accounts/current/connected-apps/{grantId} revokeConnectedApp',
      'get /authorize authorize',
      'get /authorize/{uid} resumeAuthorization',
      'post /auth/register registerClient',
      'post /auth/revoke revokeToken',
      'options /auth/revoke preflightRevocation',
      'post /auth/token exchangeToken',
      'options /auth/token preflightToken',
      'get /.well-known/oauth-protected-resource/api/v2/buyer getBuyerProtectedResource',
      'get /api/v2/buyer/openapi.yaml getBuyerOpenApiYaml',
      'get /api/v2/buyer/skill.md getBuyerSkill',
      'get /health getHealth',
      'get /live getLive',
      'get /openapi.json getOpenApi',
      'get /openapi.yaml getOpenApiYaml',
      'get /ready getReady',
      'get /skill.md getSkill',
      'post /api/v2/buyer/adcp-agents createAdcpAgent',
      'post /api/v2/buyer/advertisers createAdvertiser',
      'post /api/v2/buyer/advertisers/{advertiserId}/syndicate syndicate',
      'post /api/v2/buyer/advertisers/{id}/assets/uploads reserveAssetUpload',
      'post /api/v2/buyer/advertisers/{id}/audiences/sync syncAudiences',
      'post /api/v2/buyer/advertisers/{id}/catalogs/sync syncCatalogs',
      'post /api/v2/buyer/advertisers/{id}/creatives/create createAdvertiserCreative',
      'post /api/v2/buyer/advertisers/{id}/creatives/save-to-library saveCreativesToLibrary',
      'post /api/v2/buyer/advertisers/{id}/creatives/{cid}/campaigns assignCreativeToCampaign',
      'post /api/v2/buyer/advertisers/{id}/event-sources/sync syncEventSources',
      'post /api/v2/buyer/advertisers/{id}/restore restoreAdvertiser',
      'post /api/v2/buyer/api-keys createApiKey',
      'post /api/v2/buyer/assets/uploads/{uploadId} uploadAssetByPost',
      'post /api/v2/buyer/campaigns createCampaign',
      'post /api/v2/buyer/campaigns/{id}/creative-sessions createCreativeSession',
      'post /api/v2/buyer/campaigns/{id}/creative-sessions/{sid}/evaluate evaluateCreativeSession',
      'post /api/v2/buyer/campaigns/{id}/creative-sessions/{sid}/finalize finalizeCreativeSession',
      'post /api/v2/buyer/campaigns/{id}/creative-sessions/{sid}/variants/{variantId}/refine refineCreativeSessionVariant',
      'post /api/v2/buyer/campaigns/{id}/creatives addCampaignCreative',
      'post /api/v2/buyer/campaigns/{id}/creatives/create createCampaignCreative',
      'post /api/v2/buyer/campaigns/{id}/creatives/{cid}/duplicate duplicateCampaignCreative',
      'post /api/v2/buyer/campaigns/{id}/execute executeCampaign',
      'post /api/v2/buyer/campaigns/{id}/pause pauseCampaign',
      'post /api/v2/buyer/campaigns/{id}/reactivate reactivateCampaign',
      'get /api/v2/buyer/campaigns/{id}/proposal-requests listProposalRequests',
      'post /api/v2/buyer/campaigns/{id}/proposal-requests requestProposals',
      'get /api/v2/buyer/campaigns/{id}/proposal-requests/{executionId} getProposalRequest',
      'get /api/v2/buyer/reporting/delivery getDelivery',
      'post /api/v2/buyer/creative-engines/{id}/connections connectCreativeEngine',
      'post /api/v2/buyer/creative-engines/{id}/connections/{connectionId}/accounts/{accountId}/advertiser mapCreativeEngineAccount',
      'post /api/v2/buyer/creative-engines/{id}/connections/{connectionId}/accounts/{accountId}/select selectCreativeEngineAccount',
      'post /api/v2/buyer/creatives/{cid}/submit submitCreative',
      'post /api/v2/buyer/event-sources/{key}/events logConversions',
      'put /api/v2/buyer/advertisers/{id} updateAdvertiser',
      'put /api/v2/buyer/assets/uploads/{uploadId} uploadAsset',
      'put /api/v2/buyer/campaigns/{id} updateCampaign',
      'put /api/v2/buyer/campaigns/{id}/creatives/{cid} updateCampaignCreative',
      'put /api/v2/buyer/creatives/{cid}/sellers/{sellerId}/review reviewCreative',
      'get /api/v2/buyer/webhook-subscriptions listWebhookSubscriptions',
      'post /api/v2/buyer/webhook-subscriptions createWebhookSubscription',
      'get /api/v2/buyer/webhook-subscriptions/{id} getWebhookSubscription',
      'put /api/v2/buyer/webhook-subscriptions/{id} updateWebhookSubscription',
      'delete /api/v2/buyer/webhook-subscriptions/{id} deleteWebhookSubscription',
      'post /api/v2/buyer/webhook-subscriptions/{id}/rotate-secret rotateWebhookSecret',
      'post /api/v2/buyer/webhook-subscriptions/{id}/test testWebhookSubscription',
      'post /api/v2/buyer/webhook-subscriptions/{id}/recover recoverWebhookDeliveries',
      'post /api/v2/buyer/webhook-subscriptions/{id}/replay replayWebhookEvents',
      'get /api/v2/buyer/webhook-subscriptions/{id}/deliveries listWebhookDeliveries',
      'get /api/v2/buyer/webhook-subscriptions/{id}/deliveries/{deliveryId} getWebhookDelivery',
      'post /api/v2/buyer/webhook-subscriptions/{id}/deliveries/{deliveryId}/redeliver redeliverWebhook',
      'get /api/v2/buyer/audit-logs listAuditLogs',
      'get /api/v2/buyer/requests/{requestId} getRequest',
      ...Object.entries(pasts).flatMap(([name, path]) => [
        `get ${path}/history get${name}History`,
        `get ${path}/diff get${name}Difference`,
        `get ${path}/explain explain${name}`,
      ]),
    ];
    expect(operations.sort()).toEqual(expected.sort());
  });

  it('requires a credential where one is needed', async () => {
    const { paths } = (await (await get('/openapi.json')).json()) as Document;
    for (const [path, item] of Object.entries(paths)) {
      for (const [method, { operationId, security }] of Object.entries(item)) {
        const operation = `${method} ${path} ${operationId}`;
        const isForScope = /^\/(?:api|mcp|adcp)\b/.test(path) && !/\/uploads\/\{|\.(?:yaml|md)$/.test(path);
        const scope = [expect.stringMatching(/^exchange:/)];
        const ofScope = [
          { bearer: scope },
          { oauth: scope },
          ...(/\/(?:review|connected-apps(?:\/\{grantId\})?)$/.test(path)
            ? [{ bearer: ['exchange:review'] }, { oauth: ['exchange:review'] }]
            : []),
        ];
        expect([operation, security]).toEqual([
          operation,
          securityOf(operation, path) ?? (isForScope ? ofScope : []),
        ]);
      }
    }
  });
});

describe('the log', () => {
  it('has a line for every request: actor, route, duration; its event has the same request id', async () => {
    const { body } = await account.api.post<AdvertiserResource>(
      '/advertisers?x=secret-in-the-query',
      { name: 'secret-in-the-body' },
      { 'X-Request-Id': 'log-1', 'Idempotency-Key': 'secret-key-of-a-client' },
    );
    expect(await lineOf('log-1')).toEqual({
      level: 30,
      time: expect.anything(),
      pid: expect.any(Number),
      hostname: expect.any(String),
      requestId: 'log-1',
      account: account.customerId,
      method: 'POST',
      route: '/api/v2/buyer/advertisers',
      status: 201,
      durationMs: expect.any(Number),
      msg: 'request',
    });
    const [event] = await service.eventsOf(`advertiser-${account.customerId}-${body.data.id}`);
    expect(event?.metadata.requestId).toBe('log-1');
  });

  it('has a line of a probe only when its status changes', async () => {
    for (let n = 1; n <= 20; n++)
      await fetch(`${service.baseUrl}/live`, { headers: { 'X-Request-Id': `probe-${n}` } });
    await account.api.get('/advertisers', { 'X-Request-Id': 'after-the-probes' });
    expect(await lineOf('after-the-probes')).toBeDefined();
    const ofProbes = lines.filter((one) => one['msg'] === 'request' && one['route'] === '/live');
    expect(ofProbes.length).toBeLessThanOrEqual(1);
  });

  it('contains no secret, also not of refused requests', async () => {
    const [, keyId = ''] = account.apiKey.split('_');
    await account.api.get('/advertisers', {
      'X-Request-Id': 'log-2',
      Authorization: `Bearer ${account.apiKey}x`,
    });
    await account.api.get('/secret-in-the-path', { 'X-Request-Id': 'log-3', Cookie: 'secret=1' });
    expect(await lineOf('log-2')).toMatchObject({ account: 0, status: 401 });
    expect(await lineOf('log-3')).toMatchObject({ account: 0, status: 404, route: 'unknown' });
    const text = JSON.stringify(lines);
    expect(text).not.toMatch(/secret/);
    expect(text).not.toContain(account.apiKey.slice(`bx_${keyId}_`.length));
  });

  it('contains the cause of an internal error; the client gets the request id only', async () => {
    await service.pool.query('alter sequence advertiser_ids rename to advertiser_ids_away');
    const answer = await account.api.post('/advertisers', { name: 'Acme' }, { 'X-Request-Id': 'log-4' });
    await service.pool.query('alter sequence advertiser_ids_away rename to advertiser_ids');
    expect(refusalOf(answer)).toEqual([500, 'INTERNAL_ERROR', undefined]);
    expect(answer.text).not.toMatch(/advertiser_ids|relation|\bat \//);
    expect(answer.headers.get('x-request-id')).toBe('log-4');
    expect(lines).toContainEqual(
      expect.objectContaining({ requestId: 'log-4', msg: 'request failed', err: expect.anything() }),
    );
    expect((await account.api.post('/advertisers', { name: 'Acme' })).status).toBe(201);
  });
});

describe('shutdown', () => {
  it('with 50 clients that keep writing resets no connection, and the event log contains every answered write', async () => {
    const ending = await startRunningService();
    const { apiKey } = await ending.openAccount();
    const created: number[] = [];
    const failures: unknown[] = [];
    const answered = new Set<number>();
    // The operating system resets connections that were not accepted yet; the process cannot prevent it.
    const client = async (n: number): Promise<void> => {
      const api = leanApiOf(ending.baseUrl, { Authorization: `Bearer ${apiKey}` }, 1);
      for (let answer; answer?.headers.get('connection') !== 'close';) {
        answer = await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
        answered.add(n);
        if (answer.status === 201) created.push(answer.body.data.id);
        else failures.push(answer.text);
      }
    };
    const clients = Promise.all(
      Array.from({ length: 50 }, (_, n) => client(n).catch((error: unknown) => failures.push(String(error)))),
    );
    while (created.length < 100 || answered.size < 50) await sleep(10);
    await Promise.all([clients, ending.end()]);
    expect(failures).toEqual([]);
    expect(await advertisersInLog(ending)).toEqual(created.toSorted((a, b) => a - b));
    await ending.stop();
  });
});

const advertisersInLog = async (ended: RunningService): Promise<readonly number[]> => {
  const created = (await ended.readLog()).filter(({ type }) => type === 'AdvertiserCreated');
  return created.map(({ data }) => Number(data['advertiserId'])).toSorted((a, b) => a - b);
};
