import type { Express } from 'express';
import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import type { CredentialUses } from '../command/accounts/record-key-use.ts';
import { createAttemptLog, type AttemptLog } from '../command/audit/attempt-log.ts';
import type { Confirmations } from '../shared/confirmations/confirmations.ts';
import { createLedgers, type Ledgers } from '../command/conversions/ledgers.ts';
import { createSegments } from './lookups/conversion-segments.ts';
import type { Segments } from '../command/conversions/segments.ts';
import { Scope } from '../domain/accounts/access.ts';
import type { McpOptions } from '../mcp/routes.ts';
import type { HubTimes } from '../query/realtime/hub.ts';
import { createBrowserOrigins } from '../query/accounts/browser-origins.ts';
import { verifyAccessToken } from '../query/accounts/verify-access-token.ts';
import { verifyApiKey } from '../query/accounts/verify-api-key.ts';
import { verifySession } from '../query/accounts/verify-session.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import type { SnapshotStore } from '../shared/aggregate/snapshots.ts';
import { limitsOf, type Config } from './config.ts';
import { conversionsMemoryBytes } from './conversions-memory.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { createApp } from '../shared/http/app.ts';
import { createAuthenticate, type CredentialVerifiers } from '../shared/http/authenticate.ts';
import { createClientAddress } from '../shared/http/client-address.ts';
import { webhookDeclarations } from '../query/notifications/routes.ts';
import { documentRoutes } from '../shared/http/document-routes.ts';
import { unavailable } from '../shared/http/errors.ts';
import { createGate } from '../shared/http/gate.ts';
import type { ReadinessPart } from '../shared/async/readiness.ts';
import type { AnyRoute } from '../shared/http/route.ts';
import type { RefusedRequest, RouteServices } from '../shared/http/route-handler.ts';
import { securityHeaders } from '../shared/http/security-headers.ts';
import { serviceRoutes } from '../shared/http/service-routes.ts';
import { createExecuteOnce } from '../shared/http/execute-once.ts';
import type { IdempotencyStore } from '../shared/idempotency/idempotency-store.ts';
import type { RateLimits } from '../shared/limits/rate-limits.ts';
import type { Logger } from 'pino';
import type { OutboundFetch } from '../shared/outbound/outbound-fetch.ts';
import { createTenantDatabase, type RewriteStatement } from '../shared/postgres/tenant-database.ts';
import type { ProjectionProgress } from '../shared/follow-log/projection-progress.ts';
import { createKeyedDigest } from '../shared/secrets/keyed-digest.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import type { SecretStore } from '../shared/secrets/secret-store.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';
import { version } from './version.ts';
import { apiRoutes } from './api.ts';
import { consoleAppRoutes } from './console-app.ts';
import { auditedKinds } from '../query/history/all-kinds.ts';
import { subjectsOfRoutes } from './subjects-of-routes.ts';
import { registerLedgerMetrics, requestDurations } from './metrics.ts';
import { apiReferenceRoutes } from './api-reference.ts';
import { guidesRoute } from './api-document/guides.ts';
import { apiTexts } from './api-document/texts.ts';
import { createMcp } from './mcp.ts';
import { createRealtime, type Realtime } from './realtime.ts';
import { llms } from './llms.ts';
import { skill } from './skill.ts';
import { unbuiltPaths } from './unbuilt-areas.ts';

export interface WebOptions {
  readonly config: Config;
  readonly pool: Pool;
  readonly requestPool: Pool;
  readonly store: EventStore;
  readonly storeKind: 'postgres' | 'eventstoredb';
  readonly snapshots: SnapshotStore;
  readonly keys: () => Promise<KeyRing>;
  readonly secrets: SecretStore;
  readonly objects: ObjectStore;
  readonly rateLimits: RateLimits;
  readonly idempotency: IdempotencyStore;
  readonly confirmations: Confirmations;
  readonly uses: CredentialUses;
  readonly progress: ProjectionProgress;
  readonly readiness: readonly ReadinessPart[];
  readonly baseUrl: () => string;
  /** Where this process listens. */
  readonly port: () => number;
  readonly isPrepared: () => boolean;
  readonly ending: AbortSignal;
  readonly registry: Registry;
  readonly log: Logger;
  readonly onAnswer?: RouteServices['onAnswer'] | undefined;
  /** For tests. */
  readonly replace: {
    readonly segments?: (segments: Segments) => Segments;
    readonly tenantStatement?: RewriteStatement;
    readonly brandFetch?: OutboundFetch;
    readonly clientMetadataFetch?: OutboundFetch;
    readonly routes?: readonly AnyRoute[];
    readonly realtime?: Partial<HubTimes>;
    readonly mcpServer?: McpOptions['serverFor'];
  };
}

export interface Web {
  readonly app: Express;
  readonly attempts: AttemptLog;
  readonly realtime: Realtime | undefined;
}

/** The parts of the API document that no route declares. */
const documentOf = (config: Config) => ({
  title: 'Buyer Exchange',
  description: 'The buyer side of an advertising exchange.',
  version,
  apiName: 'Buyer',
  skill,
  llms,
  texts: (address: string) => apiTexts(limitsOf(config), address),
  resources: protectedResources,
  ...(config.ROLES.includes('api') ? { webhooks: webhookDeclarations } : {}),
});

export const createWeb = (options: WebOptions): Web => {
  const { config, pool, keys, rateLimits, progress, baseUrl } = options;
  const { registry, log, onAnswer, replace } = options;
  const database = createTenantDatabase(options.requestPool, replace.tenantStatement);
  const kinds = auditedKinds({ database, progress, baseUrl });
  const subjectOf = subjectsOfRoutes(kinds);
  const attempts = createAttemptLog({ pool, clock, log, registry, subjectOf });
  const ledgers = openLedgers(options);
  const site = { baseUrl, apiPath: '/api/v2/buyer', challengeScopes };
  const authenticate = createAuthenticate(verifiersOf(options), site);
  const isApi = config.ROLES.includes('api');
  const realtime = isApi ? createRealtime({ ...options, database, authenticate }) : undefined;
  const { brandFetch: fetchBrand, clientMetadataFetch: fetchClientMetadata } = replace;
  const answered = { ...options, database, ledgers, kinds, fetchBrand, fetchClientMetadata };
  const services = {
    site,
    executeOnce: createExecuteOnce(options.idempotency, log),
    onRefused: (request: RefusedRequest) => attempts.refused(request),
    keyedDigest: createKeyedDigest('idempotency-fingerprint', keys),
    log,
  };
  const called = isApi ? apiRoutes(answered) : [];
  const routes = [
    ...called,
    ...(realtime === undefined
      ? []
      : [...createMcp({ ...options, ...realtime, authenticate, services, routes: called }), realtime.route]),
    ...(isApi ? consoleAppRoutes() : []),
    guidesRoute(),
    ...apiReferenceRoutes(),
    ...(replace.routes ?? []),
    ...serviceRoutes({
      version,
      parts: options.readiness,
      metrics: config.PUBLIC_METRICS === 'true' ? registry : undefined,
      stopping: () => options.ending.aborted,
    }),
  ];
  const origins = createBrowserOrigins(pool);
  const app = createApp({
    routes: [...routes, ...documentRoutes({ ...site, ...documentOf(config) }, routes)],
    unbuilt: isApi ? unbuiltPaths : [],
    headers: securityHeaders(config.BASE_URL?.startsWith('https:') ?? false),
    gate: createGate({
      authenticate,
      clientAddress: createClientAddress(config.TRUSTED_PROXIES),
      limiter: rateLimits.limiter,
      failedCredentials: rateLimits.failedCredentials,
    }),
    ...services,
    origins: {
      ...origins,
      isRegistered: whenPrepared(options.isPrepared, (origin: string) => origins.isRegistered(origin)),
    },
    durations: requestDurations(registry),
    ...(onAnswer === undefined ? {} : { onAnswer }),
  });
  return { app, attempts, realtime };
};

const openLedgers = ({ config, pool, store, log, registry, replace }: WebOptions): Ledgers => {
  const segments = createSegments(pool);
  const ledgers = createLedgers({
    store,
    segments: replace.segments?.(segments) ?? segments,
    now: () => clock.now(),
    bytesMax: conversionsMemoryBytes(config),
    log,
  });
  registerLedgerMetrics(registry, ledgers);
  return ledgers;
};

const verifiersOf = ({ pool, uses, baseUrl, isPrepared }: WebOptions): CredentialVerifiers => ({
  apiKey: whenPrepared(
    isPrepared,
    verifyApiKey(pool, (keyId) => uses.keyUse.used(keyId)),
  ),
  accessToken: whenPrepared(
    isPrepared,
    verifyAccessToken(pool, baseUrl, (grantId) => uses.grantUse.used(grantId)),
  ),
  session: whenPrepared(
    isPrepared,
    verifySession(pool, (sessionId) => uses.sessionUse.used(sessionId)),
  ),
});

const mcpScopes = ['exchange:read', 'exchange:write'] as const satisfies readonly Scope[];

/** MCP clients ask for what stands in the challenge, and for nothing else. */
const challengeScopes = { '/mcp': mcpScopes, '/mcp/v3': mcpScopes, '/adcp/mcp': mcpScopes };

/** Of MCP, too: clients look here for the authorization server, whether or not this version serves MCP. */
const protectedResources = [
  { path: '', operationId: 'getProtectedResource', scopes: Scope.options },
  { path: '/api/v2/buyer', operationId: 'getBuyerProtectedResource', scopes: Scope.options },
  { path: '/mcp', operationId: 'getMcpProtectedResource', scopes: mcpScopes },
  { path: '/mcp/v3', operationId: 'getMcpV3ProtectedResource', scopes: mcpScopes },
  { path: '/adcp/mcp', operationId: 'getMcpAdcpProtectedResource', scopes: mcpScopes },
];

/** Before the database is prepared there is nothing to ask: 503, not 500. */
const whenPrepared =
  <Asked extends readonly unknown[], Answer>(
    isPrepared: () => boolean,
    ask: (...asked: Asked) => Promise<Answer>,
  ) =>
  async (...asked: Asked): Promise<Answer> => {
    if (!isPrepared()) throw unavailable('The service is starting. Repeat the request after Retry-After.');
    return ask(...asked);
  };
