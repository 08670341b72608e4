import { appends } from './append.ts';
import { conversionFloor, knownConversions, mediumConversions } from './conversion-grid.ts';
import { conversions, manyConversions, smallConversions } from './conversions.ts';
import { creativeDetails } from './detail.ts';
import { onEventStoreDb } from './eventstoredb.ts';
import { credentialCosts } from './credentials.ts';
import { growthOfLists } from './growth-lists.ts';
import { growth } from './growth.ts';
import { createAdvertisers, keyedWrites, kernelOverhead, readAdvertisers } from './http.ts';
import { history } from './history.ts';
import { eventStoreDbClient } from './eventstoredb-client.ts';
import { eventStoreDbElections } from './eventstoredb-elections.ts';
import { flatMemory } from './memory-flat.ts';
import { toolCalls } from './mcp.ts';
import { idleMemory } from './memory.ts';
import { idleProcessor } from './idle.ts';
import { liveProjection } from './projection.ts';
import { gateCost } from './gate.ts';
import { bareNodeReads, changingReads, unchangedReads } from './read-limits.ts';
import { readYourWrites } from './read-your-writes.ts';
import { realtime } from './realtime.ts';
import { rebuildAgainstUpserts } from './rebuild-upsert.ts';
import { rebuild } from './rebuild.ts';
import { proposalRounds } from './proposals.ts';
import type { Scenario } from './scenario.ts';
import { signIns } from './sign-ins.ts';
import { startUp } from './start.ts';
import { statusLists, syndications, togglesWithoutQueue } from './syndication.ts';
import { twoProcesses } from './two-processes.ts';
import { uploads } from './upload.ts';
import { webhookDeliveries } from './webhooks.ts';

/** Keyed by name, in the order of execution. `start` is first because it needs an idle machine. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  start: startUp,
  memory: idleMemory,
  idle: idleProcessor,
  create: createAdvertisers,
  read: readAdvertisers,
  unchanged: unchangedReads,
  changing: changingReads,
  'bare-node': bareNodeReads,
  'read-your-writes': readYourWrites,
  detail: creativeDetails,
  mcp: toolCalls,
  key: keyedWrites,
  kernel: kernelOverhead,
  gate: gateCost,
  credentials: credentialCosts,
  'sign-ins': signIns,
  append: appends,
  'eventstoredb-client': eventStoreDbClient,
  projection: liveProjection,
  rebuild,
  'rebuild-upsert': rebuildAgainstUpserts,
  conversions,
  'conversions-small': smallConversions,
  'conversions-medium': mediumConversions,
  'conversions-floor': conversionFloor,
  'conversions-known': manyConversions,
  'conversions-duplicates': knownConversions,
  syndication: syndications,
  toggle: togglesWithoutQueue,
  status: statusLists,
  proposals: proposalRounds,
  webhooks: webhookDeliveries,
  realtime,
  upload: uploads,
  history,
  growth,
  'growth-lists': growthOfLists,
  'two-processes': twoProcesses,
  'memory-flat': flatMemory,
  eventstoredb: onEventStoreDb,
  'eventstoredb-elections': eventStoreDbElections,
};

/**
 * The quick form omits these unless they are named: scenarios without a goal, scenarios that take very long, and
 * effects that do not show within seconds.
 */
export const longOnly: ReadonlySet<string> = new Set([
  'idle',
  'bare-node',
  'read-your-writes',
  'kernel',
  'gate',
  'credentials',
  'sign-ins',
  'rebuild',
  'rebuild-upsert',
  'conversions-floor',
  'conversions-known',
  'conversions-duplicates',
  'syndication',
  'toggle',
  'status',
  'history',
  'growth-lists',
  'two-processes',
  'memory-flat',
]);
