import { z } from 'zod';
import { createdShape, derived, fixed, found, membersOf, resourceShape } from '../fields.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';

/** The AdCP tasks that syndication uses. */
export const SyncTask = z.enum(['sync_audiences', 'sync_catalogs', 'sync_event_sources']);
export type SyncTask = z.infer<typeof SyncTask>;

/** The token is never shown. */
export const agentFields = {
  id: derived(z.string()),
  name: fixed(z.string()),
  url: fixed(z.string()),
  protocol: fixed(z.enum(['MCP', 'A2A'])),
  status: derived(
    z.enum(['ACTIVE', 'UNREACHABLE']).meta({
      description:
        '`UNREACHABLE`: it has not answered since it was registered. It is asked again until it does, and is `ACTIVE` then.',
    }),
  ),
  statusReason: derived(
    z.string().optional().meta({
      description: 'Why it is `UNREACHABLE`, and what to do; absent otherwise.',
    }),
  ),
  nextCheckAt: derived(
    Timestamp.optional().meta({
      description: 'When an `UNREACHABLE` agent is asked next; absent when it is asked no more.',
    }),
  ),
  // Absent when the agent identifies the buyer by the advertiser's brand.
  accountId: fixed(z.string().optional()),
  supportedTasks: found(
    z.array(SyncTask).meta({
      description: 'What it offered when it first answered; absent when it has not, or did not say.',
    }),
    z.array(SyncTask),
  ),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const AgentResource = z.strictObject(resourceShape(agentFields)).meta({ id: 'AdcpAgent' });
export type AgentResource = z.infer<typeof AgentResource>;

export const AgentRegistered = z.object({
  agentId: z.string(),
  customerId: z.int(),
  ...createdShape(agentFields),
  /** Refers to the encrypted token; absent for an agent without one. */
  secretId: z.string().optional(),
});
export type AgentRegistered = z.infer<typeof AgentRegistered>;

export const AgentUnreachable = z.object({
  /** A sentence for the buyer. It quotes nothing from the server. */
  reason: z.string(),
  /** Number of checks without an answer, from 1. */
  checks: z.int().min(1),
  nextCheckAt: Timestamp.optional(),
});
type AgentUnreachable = z.infer<typeof AgentUnreachable>;

export interface Agent extends AgentRegistered {
  readonly status: 'ACTIVE' | 'UNREACHABLE' | 'REMOVED';
  readonly unreachable?: AgentUnreachable | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const agentResource = ({ unreachable, ...agent }: Agent): AgentResource =>
  membersOf(AgentResource, {
    ...agent,
    id: shownAgentId(agent.agentId),
    status: unreachable === undefined ? 'ACTIVE' : 'UNREACHABLE',
    statusReason: unreachable && silenceOf(agent.url, unreachable),
    nextCheckAt: unreachable?.nextCheckAt,
  });

/** Without the URL's query, which may contain a key. */
export const silenceOf = (url: string, { reason, nextCheckAt }: AgentUnreachable): string =>
  `The agent at ${url.replace(/[?#].*$/s, '')} did not answer when it was asked what it offers: ${reason} ` +
  (nextCheckAt === undefined
    ? 'It is not asked any more. Register it again when it is there.'
    : `It is asked again at ${nextCheckAt}.`);

const ids = shownIds('agt_');
export const shownAgentId = ids.shown;
export const agentIdOf = ids.idOf;
