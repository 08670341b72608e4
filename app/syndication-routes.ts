import { agentWriteRoutes } from '../command/agents/routes.ts';
import type { SyncStores } from '../command/resource-syncs/plan-sync.ts';
import { syndicationWriteRoutes } from '../command/syndication/routes.ts';
import { agentReadRoutes } from '../query/agents/routes.ts';
import { behind } from '../query/resources/behind.ts';
import { isAgentInUse, type SyndicationReads } from '../query/syndication/list-records.ts';
import { syndicationReadRoutes } from '../query/syndication/routes.ts';
import { sleep } from '../shared/async/backoff.ts';
import type { Route } from '../shared/http/route.ts';
import type { AskCapabilities } from '../command/agents/agent-capabilities.ts';
import { OutboundError } from '../shared/outbound/outbound-error.ts';
import { createOutboundLines } from '../shared/outbound/outbound-fetch.ts';
import type { OutboundPolicy } from '../shared/outbound/outbound-url.ts';
import type { SecretStore } from '../shared/secrets/secret-store.ts';
import { syndicatedKinds } from './syndicated-kinds.ts';

export interface SyndicationParts extends SyncStores, SyndicationReads {
  readonly secrets: SecretStore;
  readonly outbound: OutboundPolicy;
  /** Milliseconds that an agent has to say what it offers when it is registered; 0: it is not asked. */
  readonly agentCheckMs: number;
  /** How clients reach the service. */
  readonly baseUrl: () => string;
}

/** Agents, and what is syndicated to them. */
export const syndicationRoutes = (parts: SyndicationParts): readonly Route[] => [
  ...agentWriteRoutes({
    ...parts,
    askCapabilities: parts.agentCheckMs === 0 ? undefined : askCapabilities(parts),
    isInUse: (customerId, agentId) => isAgentInUse(parts, customerId, agentId).catch(behind),
  }),
  ...agentReadRoutes(parts),
  ...syndicationWriteRoutes({
    ...parts,
    kinds: syndicatedKinds(parts),
    operator: () => new URL(parts.baseUrl()).hostname,
  }),
  ...syndicationReadRoutes(parts),
];

const late = { outcome: 'silent', reason: new OutboundError('unreachable').message } as const;

/** Of what an agent says of itself. */
const CAPABILITIES_BYTES_MAX = 1_000_000;

const askCapabilities = ({ outbound, agentCheckMs: timeoutMs }: SyndicationParts): AskCapabilities => {
  const openLine = createOutboundLines({ ...outbound, timeoutMs, bytesMax: CAPABILITIES_BYTES_MAX });
  // Its client takes time and memory to load: whoever registers no agent does without.
  const ask: AskCapabilities = async (agent) => {
    const { createAskCapabilities } = await import('../command/workers/syndication/ask-capabilities.ts');
    return createAskCapabilities(openLine, timeoutMs)(agent);
  };
  // Loading it is in the time, too.
  return (agent) => Promise.race([ask(agent), sleep(timeoutMs).then(() => late)]);
};
