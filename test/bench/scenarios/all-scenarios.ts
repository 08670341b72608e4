import { appends } from './append.ts';
import { conversionFloor, knownConversions, mediumConversions } from './conversion-grid.ts';
import { conversions, manyConversions, smallConversions } from './conversions.ts';
import { creativeDetails } from './detail.ts';
import { growthOfLists } from './growth-lists.ts';
import { growth } from './growth.ts';
import { createAdvertisers, keyedWrites, kernelOverhead, readAdvertisers } from './http.ts';
import { history } from './history.ts';
import { flatMemory } from './memory-flat.ts';
import { idleMemory } from './memory.ts';
import { liveProjection } from './projection.ts';
import { gateCost } from './gate.ts';
import { bareNodeReads, changingReads, unchangedReads } from './read-limits.ts';
import { readYourWrites } from './read-your-writes.ts';
import { rebuildAgainstUpserts } from './rebuild-upsert.ts';
import { rebuild } from './rebuild.ts';
import type { Scenario } from './scenario.ts';
import { startUp } from './start.ts';
import { statusLists, syndications, togglesWithoutQueue } from './syndication.ts';
import { twoProcesses } from './two-processes.ts';
import { uploads } from './upload.ts';

/** By name, in the order in which they run. `start` comes first: it wants a quiet machine. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  start: startUp,
  memory: idleMemory,
  create: createAdvertisers,
  read: readAdvertisers,
  unchanged: unchangedReads,
  changing: changingReads,
  'bare-node': bareNodeReads,
  'read-your-writes': readYourWrites,
  detail: creativeDetails,
  key: keyedWrites,
  kernel: kernelOverhead,
  gate: gateCost,
  append: appends,
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
  upload: uploads,
  history,
  growth,
  'growth-lists': growthOfLists,
  'two-processes': twoProcesses,
  'memory-flat': flatMemory,
};

/**
 * Left out of the quick form unless they are named: those that no goal is about, those that take as long as several of the
 * others, and what cannot be seen in seconds.
 */
export const longOnly: ReadonlySet<string> = new Set([
  'bare-node',
  'read-your-writes',
  'kernel',
  'gate',
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
