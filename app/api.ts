import type { Pool, QueryConfig, QueryResultRow } from 'pg';
import type { Registry } from 'prom-client';
import { browserOriginWriteRoutes } from '../command/accounts/browser-origin-routes.ts';
import { createAdmitInvitation } from '../command/accounts/admit-invitation.ts';
import { invitationWriteRoutes } from '../command/accounts/invitation-routes.ts';
import { memberWriteRoutes } from '../command/accounts/member-routes.ts';
import { createAuthorizationServer } from '../command/accounts/oauth/authorization-server.ts';
import { oauthRoutes } from '../command/accounts/oauth/routes.ts';
import { createPasswords } from '../command/accounts/passwords.ts';
import { sessionWriteRoutes } from '../command/accounts/session-routes.ts';
import { signInRoutes } from '../command/accounts/sign-in-routes.ts';
import { createLinkTokenOf } from '../command/workers/mail/link-token.ts';
import { accountRowsIn } from '../projections/account-rows.ts';
import { sessionReadRoutes } from '../query/accounts/session-routes.ts';
import { accountWriteRoutes } from '../command/accounts/routes.ts';
import { bareBrand, brandFetch, createFindBrand, type FindBrand } from '../command/brands/find-brand.ts';
import { advertiserWriteRoutes } from '../command/advertisers/routes.ts';
import { askInTime } from '../command/workers/syndication/ask-in-time.ts';
import { agentWriteRoutes } from '../command/agents/routes.ts';
import { assetWriteRoutes } from '../command/assets/routes.ts';
import { createUploadTokens } from '../command/assets/upload-token.ts';
import { audienceWriteRoutes } from '../command/audiences/routes.ts';
import { campaignWriteRoutes } from '../command/campaigns/routes.ts';
import { catalogWriteRoutes } from '../command/catalogs/routes.ts';
import type { Confirmations } from '../shared/confirmations/confirmations.ts';
import type { Ledgers } from '../command/conversions/ledgers.ts';
import { conversionWriteRoutes } from '../command/conversions/routes.ts';
import { builtInEngines } from '../command/creative-sessions/built-in-engine.ts';
import { webhookWriteRoutes } from '../command/webhooks/routes.ts';
import { webhookReadRoutes } from '../query/webhooks/routes.ts';
import { creativeSessionWriteRoutes } from '../command/creative-sessions/routes.ts';
import { creativeWriteRoutes } from '../command/creatives/routes.ts';
import { engineWriteRoutes } from '../command/engines/routes.ts';
import { askSandboxEngine } from '../command/engines/sandbox-engine.ts';
import { createVerifyKey } from '../command/engines/verify-key.ts';
import { eventSourceWriteRoutes } from '../command/event-sources/routes.ts';
import { proposalWriteRoutes } from '../command/proposals/routes.ts';
import { proposalReadRoutes } from '../query/proposals/routes.ts';
import { syndicatedKinds } from '../command/syndication/resource-kinds.ts';
import { syndicationWriteRoutes } from '../command/syndication/routes.ts';
import { SANDBOX_ENGINE } from '../domain/engines/creative-engines.ts';
import { browserOriginReadRoutes } from '../query/accounts/browser-origins.ts';
import { findMember } from '../query/accounts/members.ts';
import { accountReadRoutes } from '../query/accounts/routes.ts';
import { advertiserReadRoutes } from '../query/advertisers/routes.ts';
import { agentReadRoutes } from '../query/agents/routes.ts';
import { assetReadRoutes } from '../query/assets/routes.ts';
import { audienceReadRoutes } from '../query/audiences/routes.ts';
import { campaignReadRoutes } from '../query/campaigns/routes.ts';
import { catalogReadRoutes } from '../query/catalogs/routes.ts';
import { creativeSessionReadRoutes } from '../query/creative-sessions/routes.ts';
import { createFeedCursors } from '../query/notifications/cursor.ts';
import { notificationReadRoutes } from '../query/notifications/routes.ts';
import { createListCursors } from '../query/resources/list-cursor.ts';
import { creativeReadRoutes } from '../query/creatives/routes.ts';
import { engineReadRoutes } from '../query/engines/routes.ts';
import { eventSourceReadRoutes } from '../query/event-sources/routes.ts';
import type { AuditedKind } from '../query/resources/audited-kind.ts';
import type { FoldCache } from '../query/history/fold-cache.ts';
import { withHistory } from '../query/history/routes.ts';
import { reportingReadRoutes } from '../query/reporting/routes.ts';
import { sellerReadRoutes } from '../query/sellers/routes.ts';
import { syndicationReadRoutes } from '../query/syndication/routes.ts';
import { taskReadRoutes } from '../query/tasks/routes.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import type { SnapshotStore } from '../shared/aggregate/snapshots.ts';
import { outboundPolicyOf, type Config } from './config.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { unavailable } from '../shared/http/errors.ts';
import { answeredFromMemory, createAnswerCache } from '../shared/http/answer-cache.ts';
import type { AnyRoute, Route } from '../shared/http/route.ts';
import type { RateLimits } from '../shared/limits/rate-limits.ts';
import type { Logger } from 'pino';
import type { OutboundFetch } from '../shared/outbound/outbound-fetch.ts';
import { idSequence } from '../shared/postgres/sequence.ts';
import type { TenantDatabase } from '../shared/postgres/tenant-database.ts';
import type { ProjectionProgress } from '../shared/follow-log/projection-progress.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import type { SecretStore } from '../shared/secrets/secret-store.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';
import type { AskDatabase } from '../command/assets/handler.ts';
import { createLookups } from './lookups.ts';
import { findAccountNow } from './lookups/find-accounts.ts';
import { endGrantsIn } from './end-grants.ts';
import { findInvitation } from './lookups/find-invitation.ts';
import { findLogin } from './lookups/find-login.ts';
import { findUser } from './lookups/find-user.ts';
import { oauthGrantRowsIn } from '../projections/oauth-grant-rows.ts';
import { createKeyedDigest } from '../shared/secrets/keyed-digest.ts';
import type { OutboundPolicy } from '../shared/outbound/outbound-url.ts';
import { registerAnswerMetrics } from './metrics.ts';

export interface ApiDependencies {
  readonly config: Config;
  readonly pool: Pool;
  readonly requestPool: Pool;
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
  readonly keys: () => Promise<KeyRing>;
  readonly secrets: SecretStore;
  readonly objects: ObjectStore;
  readonly ledgers: Ledgers;
  readonly confirmations: Confirmations;
  readonly kinds: readonly AuditedKind[];
  readonly baseUrl: () => string;
  readonly isPrepared: () => boolean;
  /** Default: from the network, as the configuration allows. */
  readonly fetchBrand?: OutboundFetch | undefined;
  /** Default: from the network, as the configuration allows. */
  readonly fetchClientMetadata?: OutboundFetch | undefined;
  readonly rateLimits: Pick<RateLimits, 'limiter'>;
  readonly registry: Registry;
  readonly log: Logger;
}

const ANSWER_CACHE_BYTES_MAX = 32 * 1024 * 1024;
/** Well within the time that a request has for its answer. */
const VERIFY_MS_MAX = 2_000;

export const apiRoutes = (dependencies: ApiDependencies): readonly AnyRoute[] => {
  const { config, pool, requestPool, objects, ledgers, confirmations, kinds } = dependencies;
  const { store, snapshots, database, progress, keys, secrets, baseUrl, registry, log } = dependencies;
  const outbound = outboundPolicyOf(config);
  const ids = idSequence(pool, 'advertiser_ids', 'advertisers');
  const findBrand = findBrandOf(config, dependencies.fetchBrand);
  const answers = createAnswerCache(ANSWER_CACHE_BYTES_MAX);
  onConnect([pool, requestPool], () => answers.clear());
  registerAnswerMetrics(registry, answers);
  const fromMemory = (routes: readonly Route[]) => answeredFromMemory(answers, routes);
  const lookups = createLookups({ database, progress, store, snapshots, answers });
  const writes = { store, snapshots, clock };
  const reads = { database, progress, store, snapshots };
  const cursors = createListCursors(keys);
  const operator = (): string => new URL(baseUrl()).hostname;
  const routes = [
    ...accountRoutesOf(dependencies),
    ...advertiserWriteRoutes({ ...writes, ids, findBrand }),
    ...fromMemory(advertiserReadRoutes(reads)),
    ...assetWriteRoutes({
      ...writes,
      ...uploadDatabase(pool, dependencies.isPrepared),
      objects,
      tokens: createUploadTokens(keys),
      bytesMax: config.UPLOAD_BYTES_MAX,
      uploadsOpenMax: config.UPLOADS_OPEN_MAX,
      baseUrl,
      isInUse: lookups.isAssetInUse,
    }),
    ...assetReadRoutes({ ...reads, objects, baseUrl }),
    ...eventSourceWriteRoutes({ ...writes, activeKeys: lookups.activeEventSources }),
    ...audienceWriteRoutes({ ...writes, activeKeys: lookups.activeAudiences }),
    ...audienceReadRoutes(reads),
    ...taskReadRoutes(reads),
    ...catalogWriteRoutes({ ...writes, activeKeys: lookups.activeCatalogs, outbound }),
    ...catalogReadRoutes(reads),
    ...conversionWriteRoutes({ clock, ledgers, confirmations, sourcesOf: lookups.eventSourcesOfKey }),
    ...eventSourceReadRoutes({ ...reads, clock }),
    ...reportingReadRoutes({ ...reads, cursors, clock }),
    ...campaignWriteRoutes(writes),
    ...fromMemory(campaignReadRoutes(reads)),
    ...proposalWriteRoutes({ ...writes, confirmations, operator, sellerMs: config.PROPOSAL_SELLER_MS }),
    ...proposalReadRoutes({ ...reads, cursors }),
    ...creativeWriteRoutes({ ...writes, findSubmission: lookups.findSubmission }),
    ...sellerReadRoutes({ ...reads, baseUrl }),
    ...fromMemory(creativeReadRoutes({ ...reads, baseUrl })),
    ...creativeSessionWriteRoutes({ ...writes, engines: builtInEngines(writes) }),
    ...creativeSessionReadRoutes({ ...reads, cursors }),
    ...engineWriteRoutes({
      ...writes,
      secrets,
      log,
      verifyKey,
      findAdvertiserNames: lookups.findAdvertiserNames,
    }),
    ...engineReadRoutes(reads),
    ...agentRoutesOf(dependencies, outbound, lookups),
    ...webhookWritesOf(dependencies, outbound, lookups),
    ...webhookReadRoutes({ ...reads, cursors }),
    ...notificationReadRoutes({ ...reads, cursors: createFeedCursors(keys), clock, baseUrl }),
  ];
  const onFoldCache = (kept: FoldCache) => onConnect([pool], () => kept.interrupt());
  return [
    ...withHistory({ store, database, progress, keys, kinds, onFoldCache }, routes),
    ...oauthRoutesOf(dependencies, outbound),
  ];
};

const accountRoutesOf = ({
  config,
  pool,
  store,
  snapshots,
  database,
  keys,
  secrets,
  rateLimits,
}: ApiDependencies): readonly Route[] => {
  const writes = {
    store,
    snapshots,
    pool,
    database,
    clock,
    secrets,
    keys,
    rows: accountRowsIn(pool),
    findLogin: findLogin(pool),
    findInvitation: findInvitation(pool),
    passwords: createPasswords(),
    linkTokenOf: createLinkTokenOf(keys),
    nextCustomerId: idSequence(pool, 'customer_ids').next,
    verifiesAddresses: config.SMTP_URL !== undefined,
  };
  const allowsLoopback = config.NODE_ENV !== 'production';
  return [
    ...accountWriteRoutes(writes),
    ...accountReadRoutes(database),
    ...memberWriteRoutes({
      ...writes,
      endGrants: endGrantsIn({ store, pool }),
      findMember: (customerId, userId) => findMember(database, customerId, userId),
    }),
    ...invitationWriteRoutes({
      ...writes,
      admit: createAdmitInvitation(rateLimits.limiter, createKeyedDigest('invited-address', keys)),
    }),
    ...browserOriginWriteRoutes({ ...writes, allowsLoopback }),
    ...browserOriginReadRoutes(database),
    ...signInRoutes(writes),
    ...sessionWriteRoutes(writes),
    ...sessionReadRoutes(database, pool),
  ];
};

const agentRoutesOf = (
  { config, store, snapshots, database, progress, secrets, baseUrl }: ApiDependencies,
  outbound: OutboundPolicy,
  lookups: ReturnType<typeof createLookups>,
): readonly Route[] => {
  const writes = { store, snapshots, clock };
  const reads = { database, progress, store, snapshots };
  const operator = (): string => new URL(baseUrl()).hostname;
  return [
    ...agentWriteRoutes({
      ...writes,
      secrets,
      outbound,
      askCapabilities: askInTime(outbound, config.AGENT_CHECK_MS),
      isInUse: lookups.isAgentInUse,
    }),
    ...agentReadRoutes(reads),
    ...syndicationWriteRoutes({ ...writes, kinds: syndicatedKinds(writes), operator }),
    ...syndicationReadRoutes(reads),
  ];
};

const webhookWritesOf = (
  { store, snapshots, log, secrets, baseUrl }: ApiDependencies,
  outbound: OutboundPolicy,
  lookups: ReturnType<typeof createLookups>,
): readonly Route[] =>
  webhookWriteRoutes({
    store,
    snapshots,
    clock,
    log,
    secrets,
    outbound,
    baseUrl,
    findAdvertiserNames: lookups.advertiserNames,
    healthOf: lookups.webhookHealth,
    isDelivery: lookups.isWebhookDelivery,
    countNotifications: lookups.countNotifications,
    countWaiting: lookups.countWaiting,
  });

const oauthRoutesOf = (
  { pool, store, keys, baseUrl, log, fetchClientMetadata }: ApiDependencies,
  outbound: OutboundPolicy,
): readonly AnyRoute[] => {
  const writes = { store, clock, rows: oauthGrantRowsIn(pool), pool, findUser: findUser(pool) };
  const digest = createKeyedDigest('oauth-cookies', keys);
  const server = createAuthorizationServer({
    ...writes,
    baseUrl,
    cookieKey: async () => (await digest(Buffer.alloc(0))).toString('base64url'),
    outbound,
    fetchMetadata: fetchClientMetadata,
    log,
  });
  return oauthRoutes(server, writes);
};

const verifyKey = createVerifyKey({
  // Engines that can say whether they accept a key.
  engines: new Map([[SANDBOX_ENGINE, askSandboxEngine]]),
  timeoutMs: VERIFY_MS_MAX,
});

const findBrandOf = (config: Config, fetchBrand: OutboundFetch | undefined): FindBrand => {
  const { BRAND_LOOKUP_MS: timeoutMs } = config;
  if (timeoutMs === 0) return async (domain) => bareBrand(domain);
  return createFindBrand(fetchBrand ?? brandFetch(outboundPolicyOf(config), timeoutMs), timeoutMs);
};

/** A new connection may lead to another server, or to a server that was restored to an earlier time. */
const onConnect = (pools: readonly Pool[], discard: () => void): void => {
  for (const pool of pools) pool.on('connect', discard);
};

const uploadDatabase = (pool: Pool, isPrepared: () => boolean) => {
  const prepared = whenPrepared(pool, isPrepared);
  return { pool: prepared, findAccountNow: findAccountNow(prepared) };
};

/** An upload carries no credential, so no check of one finds out that the database is not prepared yet. */
const whenPrepared = (pool: Pool, isPrepared: () => boolean): AskDatabase => ({
  query: async <Row extends QueryResultRow>(question: QueryConfig) => {
    if (!isPrepared()) throw unavailable('The service is starting. Repeat the request after Retry-After.');
    return pool.query<Row>(question);
  },
});
