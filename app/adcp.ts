import type { Pool } from 'pg';
import { createFindProducts } from '../command/workers/proposals/find-products.ts';
import { createKeptAnswers } from '../command/workers/proposals/kept-answers.ts';
import { capabilitiesTask } from '../mcp/adcp/capabilities.ts';
import { deliveryTask } from '../mcp/adcp/delivery.ts';
import { productsTask } from '../mcp/adcp/products.ts';
import type { AdcpTask } from '../mcp/adcp/task.ts';
import type { ToolCursors } from '../mcp/cursor.ts';
import type { SnapshotStore } from '../shared/aggregate/snapshots.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import type { SecretStore } from '../shared/secrets/secret-store.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';
import { createAgentCaller, SELLER_BYTES_MAX } from './agent-caller.ts';
import type { Config } from './config.ts';

export interface AdcpParts {
  readonly config: Config;
  readonly pool: Pool;
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly secrets: SecretStore;
  readonly objects: ObjectStore;
  readonly baseUrl: () => string;
  readonly cursors: ToolCursors;
}

export const adcpTasks = (parts: AdcpParts): readonly AdcpTask[] => {
  const { config, pool, store, snapshots, secrets, objects, baseUrl, cursors } = parts;
  const { PROPOSAL_SELLER_MS: callMs, PROPOSAL_ANSWER_DAYS: days } = config;
  return [
    capabilitiesTask(),
    productsTask({
      findProducts: createFindProducts({
        store,
        snapshots,
        secrets,
        callAgent: createAgentCaller(config, { callMs, bytesMax: SELLER_BYTES_MAX }),
      }),
      answers: createKeptAnswers({ pool, objects, days }),
      cursors,
      operator: () => new URL(baseUrl()).hostname,
      sellerMs: callMs,
    }),
    deliveryTask(),
  ];
};
