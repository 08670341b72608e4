import { appends } from './append.ts';
import { conversions } from './conversions.ts';
import { creativeDetails } from './detail.ts';
import { growth } from './growth.ts';
import { createAdvertisers, keyedWrites, kernelOverhead, readAdvertisers } from './http.ts';
import { history } from './history.ts';
import { idleMemory } from './memory.ts';
import { liveProjection } from './projection.ts';
import { gateCost } from './gate.ts';
import type { Scenario } from './scenario.ts';
import { startUp } from './start.ts';
import { statusLists, syndications, togglesWithoutQueue } from './syndication.ts';
import { uploads } from './upload.ts';

/** By name, in the order in which they run. `start` comes first: it wants a quiet machine. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  start: startUp,
  memory: idleMemory,
  create: createAdvertisers,
  read: readAdvertisers,
  detail: creativeDetails,
  key: keyedWrites,
  kernel: kernelOverhead,
  gate: gateCost,
  append: appends,
  projection: liveProjection,
  conversions,
  syndication: syndications,
  toggle: togglesWithoutQueue,
  status: statusLists,
  upload: uploads,
  history,
  growth,
};
